#include "tools/ctprof/options/options.hpp"

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "core/archive/time_text.hpp"
#include "core/base/clock.hpp"
#include "core/base/text.hpp"
#include "core/expression/expression_parser.hpp"
#include "ctprof/files.hpp"
#include "ctprof/newtypes.hpp"
#include "tools/ctprof/options/amounts.hpp"
#include "tools/ctprof/options/continuous_options.hpp"
#include "tools/ctprof/options/fraction_options.hpp"
#include "tools/ctprof/options/option_descriptions.hpp"
#include "tools/ctprof/options/option_table.hpp"
#include "tools/ctprof/options/option_values.hpp"
#include "tools/ctprof/options/record_options.hpp"
#include "tools/ctprof/options/settings.hpp"
#include "tools/ctprof/options/table_options.hpp"

namespace ctprof::cli {
namespace {

namespace po = boost::program_options;

// Limit of --repeat, because each window is a file in one directory.
constexpr std::uint64_t kMaxWindows = 99'999;

// Splits the lists "a,b,c" of all occurrences of an option. An empty entry is an error.
Result<std::vector<std::string>> split_list(std::string_view option,
                                            const std::vector<std::string>& values) {
  std::vector<std::string> items;
  for (const std::string& value : values)
    for (const std::string_view entry : split_names(value)) {
      const std::string_view item = sdk::trimmed(entry);
      if (item.empty())
        return Error{"--" + std::string(option) + ": an empty entry between commas"};
      items.emplace_back(item);
    }
  return items;
}

Result<std::uint64_t> parse_whole_number(std::string_view option, std::string_view text) {
  const auto number = sdk::number<std::uint64_t>(text);
  if (number) return number.value;
  return Error{"--" + std::string(option) + ": '" + std::string(text) +
               "' is not a whole number of 0 or more"};
}

constexpr Range kDurations{1'000'000, 366ULL * 86400 * kNsPerSecond,
                           "a time from 1ms to 366d (10s, 500ms, 2m, 1h30m)"};
constexpr Range kHistories{1ULL << 20, 16ULL << 30, "a size from 1M to 16G"};

// Fills Options from the values that program_options parsed.
class OptionsReader {
 public:
  explicit OptionsReader(const OptionValues& values) : values_(values) {}

  Result<Options> read() {
    read_words();
    read_switches();
    read_lists();
    read_numbers();
    read_choices();
    store_value(read_record_options(values_), options_.record);
    read_option_groups();
    read_symbolization();
    if (has("stacks")) read_stacks();
    if (error_) return *error_;
    return options_;
  }

 private:
  bool has(const char* name) const { return has_option(values_, name); }
  const std::vector<std::string>& all(const char* name) const { return all_values(values_, name); }
  const std::string& last(const char* name) const { return last_value(values_, name); }

  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }

  void read_words() {
    if (!has("words")) return;
    options_.arguments = all("words");
    options_.command_name = options_.arguments.front();
    options_.arguments.erase(options_.arguments.begin());
  }

  void read_switches() {
    options_.help = has("help");
    options_.version = has("version");
    options_.json_schema = has("json-schema");
    options_.wrap = has("wrap");
    options_.details = has("details");
    options_.csv_safe = has("csv-safe");
    options_.quiet = has("quiet");
    options_.pager = !has("no-pager");
    options_.sync = !has("no-sync");
    options_.hostname = !has("no-hostname");
    options_.verbose = has("verbose");
    options_.strict = has("strict");
    options_.force = has("force");
    options_.build = has("build");
    if (has("output")) options_.output = last("output");
    if (has("to")) options_.export_form = last("to");
    options_.redact = has("redact");
    if (has("redact-key")) options_.redact_key = last("redact-key");
    if (has("metric")) options_.metric = last("metric");
    options_.shows_idle = has("idle");
    options_.root_below = has("root-below");
    if (has("rootfs")) options_.rootfs = last("rootfs");
    if (has("interleave")) options_.interleave = all("interleave");
    if (has("sections")) options_.sections = last("sections");
    if (has("sort-by")) options_.sort_by = last("sort-by");
    options_.rate = has("rate");
    options_.shares = has("shares");
    options_.lifetime = has("lifetime");
    if (has("display-format")) options_.display_format = last("display-format");
    if (has("columns")) options_.columns = last("columns");
    options_.literal_names = has("no-thread-normalize");
    options_.literal_cgroups = has("no-cg-normalize");
    if (has("cgroup-flatten")) options_.cgroup_flatten = all("cgroup-flatten");
    if (has("where")) options_.where = all("where");
    if (has("derive")) options_.derive = all("derive");
    if (has("about")) options_.about = last("about");
    if (has("fail-on")) options_.fail_on = all("fail-on");
    if (has("plugin-path")) options_.plugin_path = all("plugin-path");
    if (has("set")) options_.plugin_settings = all("set");
    if (const char* path = std::getenv("CTPROF_PLUGIN_PATH"))
      for (std::string_view rest = path; !rest.empty();)
        if (const auto directory = sdk::take(rest, ':'); !directory.empty())  // not the current one
          options_.plugin_path_of_environment.emplace_back(directory);
  }

  void read_list(const char* name, std::optional<std::vector<std::string>>& out) {
    if (has(name)) store_value(split_list(name, all(name)), out);
  }

  void read_lists() {
    read_cgroup();
    read_list("plugins", options_.plugins);
    read_list("metrics", options_.metrics);
    std::optional<std::vector<std::string>> pids;
    read_list("pid", pids);
    for (const std::string& pid : pids.value_or(std::vector<std::string>{})) {
      const auto number = parse_whole_number("pid", pid);
      number ? options_.pids.push_back(*number) : fail(number.error());
    }
  }

  // Requires --duration: a window without a length would never end.
  void read_repeat(std::uint64_t repeat) {
    options_.repeat = repeat;
    if (repeat < 1 || repeat > kMaxWindows)
      fail({"--repeat: " + std::to_string(repeat) + " is not between 1 and " +
            std::to_string(kMaxWindows)});
    else if (!has("duration"))
      fail({"--repeat needs the length of each window, as in --repeat 8 -d 5s"});
  }

  // "/a.slice/" and "a.slice" mean "/a.slice".
  void read_cgroup() {
    if (!has("cgroup")) return;
    std::string& path = options_.cgroup = last("cgroup");
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (path.empty())
      fail({"--cgroup: the path is empty; use the path of a cgroup, such as /a.slice/b.service"});
    if (!path.starts_with('/')) path.insert(0, "/");
  }

  void read_fraction(const FractionOption& option, double& out) {
    if (has(option.name)) store_value(parse_fraction(option, last(option.name)), out);
  }

  template <class Number>
  void read_amount(const char* name, const Range& range, ReadAmount read, Number& out) {
    if (auto done = cli::read_amount(values_, name, range, read, out); !done) fail(done.error());
  }

  void read_numbers() {
    read_amount("duration", kDurations, &parse_duration, options_.duration_ns);
    read_amount("history", kHistories, &parse_size, options_.history_bytes);
    if (has("repeat")) {
      const auto repeat = parse_whole_number("repeat", last("repeat"));
      repeat ? read_repeat(*repeat) : fail(repeat.error());
    }
    if (has("limit")) store_value(parse_whole_number("limit", last("limit")), options_.limit);
    read_fraction(kAlpha, options_.significance.alpha);
    read_fraction(kMinShift, options_.significance.min_shift);
    read_fraction(kShift, options_.shift);
    if (!has("jobs")) return;
    const auto jobs = parse_whole_number("jobs", last("jobs"));
    if (!jobs) return fail(jobs.error());
    if (*jobs < 1 || *jobs > 1024)
      return fail({"--jobs: " + last("jobs") + " is not between 1 and 1024"});
    options_.jobs = static_cast<unsigned>(*jobs);
  }

  template <class T, class Out>
  void store_value(Result<T> read, Out& out) {
    read ? void(out = std::move(*read)) : fail(read.error());
  }

  void read_option_groups() {
    store_value(read_continuous_options(values_), options_.continuous);
    store_value(read_table_options(values_), options_.tables);
    store_value(read_spans(values_), options_.spans);
    store_value(read_plugin_options(values_), options_.plugin);
  }

  // Reads the options that control symbolization.
  void read_symbolization() {
    if (has("debug-dir")) options_.record.names.debug_directories = all("debug-dir");
    options_.record.names.find_inlined = has("inlines");
    options_.record.names.debuginfod = has("debuginfod");
    const bool records = options_.command_name == "record" || options_.command_name == "live";
    for (const char* option : {"debug-dir", "inlines"})
      if (records && has(option) && !has("recorders"))
        fail({"--" + std::string(option) + " requires recorders, such as --recorders on-cpu"});
  }

  // Sets `out` to the selected choice. `words` lists the names in the order of the enumerators.
  template <class Enum, std::size_t N>
  void read_choice(const char* name, const std::array<std::string, N>& words, Enum& out) {
    if (!has(name)) return;
    const auto it = std::find(words.begin(), words.end(), last(name));
    if (it != words.end())
      out = static_cast<Enum>(it - words.begin());
    else
      fail(invalid_choice_error(name, last(name), words));
  }

  // Records the stacks of sleeping threads once, beside a snapshot. The rows layout cannot store
  // them.
  void read_stacks() {
    if (has("layout") && options_.layout == FileLayout::Rows)
      fail({"--stacks requires --layout columns: the rows layout cannot store call stacks"});
    options_.layout = FileLayout::Columns;
    options_.record.recorders = {"sleepers"};
    options_.record.sample_once = true;
  }

  void read_choices() {
    read_choice("format", std::array<std::string, 3>{"text", "json", "csv"}, options_.format);
    read_choice("layout", std::array<std::string, 2>{"rows", "columns"}, options_.layout);
    if (has("level"))
      read_choice("level", std::array<std::string, 2>{"fast", "full"}, options_.level.emplace());
    read_choice("color", std::array<std::string, 3>{"auto", "always", "never"}, options_.color);
    options_.has_group_by = has("group-by");
    if (options_.has_group_by) options_.group_by = last("group-by");
    if (has("entity")) options_.entity = last("entity");
  }

  const OptionValues& values_;
  Options options_;
  std::optional<Error> error_;
};

Error unknown_option_error(const std::string& word) {
  std::vector<std::string> names;
  for (const OptionInfo& option : kOptions) names.push_back("--" + std::string(long_name(option)));
  return {"unknown option '" + word + "'" + suggest_nearest(word, names)};
}

// Rejects options that the command does not take.
Result<void> check_command_takes_options(const Options& options, const po::variables_map& values) {
  for (const OptionInfo& option : kOptions) {
    const std::string name(long_name(option));
    if (!options.command_name.empty() && values.count(name) > 0 &&
        is_listed(kAllCommands, options.command_name) &&
        !is_listed(option.commands, options.command_name))
      return Error{"'" + options.command_name + "' does not take --" + name};
  }
  if (options.format == Format::Csv && is_listed(kAllCommands, options.command_name) &&
      !is_listed("show,compare", options.command_name))
    return Error{"'" + options.command_name + "' has no csv; use --format json"};
  if (options.csv_safe && options.format != Format::Csv &&
      is_listed("show,compare", options.command_name))
    return Error{"--csv-safe requires --format csv"};
  return {};
}

bool is_on_command_line(const po::parsed_options& parsed, std::string_view option) {
  return std::ranges::any_of(parsed.options,
                             [&](const auto& word) { return word.string_key == option; });
}

// Assigns each argument to a side: before the first --vs, or after one of them. The first word is
// the command.
void assign_arguments_to_sides(const po::parsed_options& parsed, Options& options) {
  options.arguments.clear();
  bool is_command = true;
  for (const auto& option : parsed.options) {
    const bool begins_side = option.string_key == "vs";
    if (begins_side) options.vs.emplace_back();
    if (!begins_side && (option.position_key < 0 || std::exchange(is_command, false))) continue;
    auto& side = options.vs.empty() ? options.arguments : options.vs.back();
    side.insert(side.end(), option.value.begin(), option.value.end());
  }
}

// Reports an option directly after --vs as an error: --vs requires a file.
Result<void> check_vs(std::span<const char* const> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (std::string_view(words[i]) != "--vs") continue;
    const std::string_view next = i + 1 < words.size() ? words[i + 1] : "--";
    if (next == "--vs") return Error{"no file between --vs and --vs"};
    if (next.starts_with("--")) return missing_side_error();
  }
  return {};
}

// For the parser, the second word of --interleave 'A' 'B' is an argument.
Result<void> take_interleave_commands(Options& options) {
  if (options.interleave.empty()) return {};
  if (options.interleave.size() != 1 || options.arguments.size() != 1)
    return Error{
        "--interleave takes two commands, one for each side: --interleave 'CMD_A' 'CMD_B'"};
  options.interleave.push_back(std::move(options.arguments.front()));
  options.arguments.clear();
  if (options.repeat == 0)
    return Error{"--interleave needs the number of pairs, as in --repeat 8 -d 3s"};
  return {};
}

Result<Options> parse_option_words(int argc, const char* const* argv,
                                   const std::vector<SettingsSource>& settings) {
  CTPROF_TRY(check_vs({argv, static_cast<std::size_t>(argc)}));
  po::options_description all = describe_options("");
  all.add_options()("words", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("words", -1);
  po::variables_map values;
  po::parsed_options parsed(&all);
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    parsed =
        po::command_line_parser(argc, argv).options(all).positional(positional).style(style).run();
    po::store(parsed, values);
    if (values.count("words") > 0)
      add_settings(values["words"].as<std::vector<std::string>>().front(), settings, all, values);
  } catch (const po::unknown_option& exception) {
    return unknown_option_error(exception.get_option_name());
  } catch (const po::error& exception) {
    return Error{exception.what()};
  }
  // --entity replaces a --group-by of the configuration.
  if (is_on_command_line(parsed, "entity") && is_on_command_line(parsed, "group-by"))
    return Error{"--entity shows one group for each row: omit --group-by"};
  auto options = OptionsReader(values).read();
  if (options) assign_arguments_to_sides(parsed, *options);
  if (options) CTPROF_TRY(check_command_takes_options(*options, values));
  if (options) CTPROF_TRY(take_interleave_commands(*options));
  return options;
}

}  // namespace

Error missing_side_error() { return {"--vs needs files on both sides, as in A1 A2 --vs B1 B2"}; }

Result<Options> parse_options(int argc, const char* const* argv,
                              const std::vector<SettingsSource>& settings) {
  const auto end = std::find_if(argv, argv + argc,
                                [](const char* word) { return std::string_view(word) == "--"; });
  auto options = parse_option_words(static_cast<int>(end - argv), argv, settings);
  if (end == argv + argc) return options;
  // For record, `--` precedes a command with options of its own; for other commands, words that are
  // not options.
  if (!options || options->command_name != "record")
    return parse_option_words(argc, argv, settings);
  if (end + 1 == argv + argc) return Error{"missing command after --"};
  options->child_command.assign(end + 1, argv + argc);
  if (!options->interleave.empty())
    return Error{"--interleave has its own commands and accepts none after --"};
  return options;
}

}  // namespace ctprof::cli

#include "tools/ctprof/inputs/capture_arguments.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/archive/directory.hpp"
#include "core/archive/time_text.hpp"
#include "core/file/capture_file.hpp"
#include "core/file/write/destination.hpp"
#include "tools/ctprof/options/command_line.hpp"

namespace ctprof::cli {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Whether the argument names an existing file, or one of its captures.
bool is_existing_file(const std::string& argument) {
  const std::string path = parse_capture_name(argument).path;
  return argument == "-" || (!path.empty() && exists(path) && !is_directory(path));
}

// Returns the files in the order of their names. Skips everything but regular files: reading a pipe
// that another user created could block ctprof.
Result<std::vector<std::string>> list_capture_files(const std::string& directory) {
  std::error_code failed;
  std::vector<std::string> files;
  for (fs::directory_iterator it(directory, failed), end; !failed && it != end;
       it.increment(failed))
    if (std::error_code ignored;
        it->path().filename().string().ends_with(kFileSuffix) && it->is_regular_file(ignored))
      files.push_back(it->path().string());
  if (failed) return errno_error("reading the directory", directory, failed.value());
  if (files.empty())
    return error("reading the directory", directory,
                 "it has no file named *.ctprof.zst, as `ctprof record --repeat` makes them");
  std::ranges::sort(files);
  return files;
}

// Returns the positions of each `..` between the names of two existing files.
std::vector<std::size_t> find_split_positions(const std::string& text) {
  std::vector<std::size_t> positions;
  for (auto at = text.find(kPairSeparator); at != text.npos; at = text.find(kPairSeparator, at + 1))
    if (is_existing_file(text.substr(0, at)) &&
        is_existing_file(text.substr(at + kPairSeparator.size())))
      positions.push_back(at);
  return positions;
}

// Whether the argument is a directory of `record --every`. Such a directory does not define runs,
// so `noise` reads its files one by one.
bool is_span(const std::string& text, const InputOptions& options) {
  return options.command_name != "noise" && is_directory(text) && is_archive(text);
}

Result<CaptureArgument> resolve_argument(const std::string& text, const InputOptions& options,
                                         const Span& span) {
  if (is_span(text, options)) return CaptureArgument{text, ArgumentForm::Span, {text}, span};
  // The error of a missing file is that of reading it.
  const bool is_found =
      text == "-" || exists(text) || is_existing_file(text) || !find_split_positions(text).empty();
  if (is_found && (span.since || span.until))
    return error("reading", text,
                 "--since and --until require a directory that `ctprof record --every` writes");
  if (is_directory(text)) {
    CTPROF_TRY_VALUE(auto files, list_capture_files(text));
    return CaptureArgument{text, ArgumentForm::Directory, std::move(files), {}};
  }
  if (is_existing_file(text)) return CaptureArgument{text, ArgumentForm::File, {text}, {}};
  const auto positions = find_split_positions(text);
  if (positions.size() > 1)
    return error("reading", text,
                 "it can be split at more than one '..'; rename a file, or pass the two snapshots "
                 "as two arguments");
  if (positions.empty() && text.find(kPairSeparator, 1) != text.npos)
    return error("reading", text, "no such file, and it is not A..B with two existing files");
  if (positions.empty())
    return CaptureArgument{text, ArgumentForm::File, {text}, {}};  // reading it reports the error
  return CaptureArgument{
      text,
      ArgumentForm::Pair,
      {text.substr(0, positions[0]), text.substr(positions[0] + kPairSeparator.size())},
      {}};
}

using Arguments = std::vector<std::string>;

std::uint64_t round_up_to_seconds(std::uint64_t ns) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  return (ns + kSecond - 1) / kSecond * kSecond;
}

// Returns the two sides in a directory of `record --interleave`, or none for another directory.
std::optional<std::vector<Arguments>> find_interleaved_sides(const std::string& directory) {
  const std::string prefix = directory + (directory.ends_with('/') ? "" : "/");
  const std::string a = prefix + "a", b = prefix + "b";
  if (!is_directory(a) || !is_directory(b)) return std::nullopt;
  return std::vector<Arguments>{{a}, {b}};
}

// Replaces a directory of `record --interleave` that is the only argument: by two sides for
// commands that compare, and by two arguments of one side for tables, which have no sides.
void expand_interleaved_sides(std::vector<Arguments>& arguments_by_side,
                              const InputOptions& options) {
  const bool compares = options.command_name == "compare" || options.command_name == "report" ||
                        options.command_name == "flame";
  if (arguments_by_side.size() != 1 || arguments_by_side.front().size() != 1) return;
  if (!compares && options.command_name != "export") return;
  auto both_sides = find_interleaved_sides(arguments_by_side.front().front());
  if (!both_sides) return;
  if (compares)
    arguments_by_side = std::move(*both_sides);
  else
    arguments_by_side = {{(*both_sides)[0].front(), (*both_sides)[1].front()}};
}

}  // namespace

Result<CaptureArgument> resolve_single_argument(const std::string& argument,
                                                const InputOptions& options) {
  const Span span = options.spans.empty() ? Span{} : options.spans.front();
  if (is_span(argument, options) || span.since || span.until)
    return resolve_argument(argument, options, span);
  return CaptureArgument{argument, ArgumentForm::File, {argument}, {}};
}

std::string make_span_command(const InputOptions& options) {
  const bool is_page = options.command_name == "report";
  const std::string page_as_text = options.vs.empty() ? "show" : "compare";
  std::vector<std::string> words{"ctprof", is_page ? page_as_text : options.command_name};
  bool has_span = false;
  const auto add_arguments = [&](const Arguments& arguments) {
    for (const std::string& argument : arguments) {
      words.push_back(argument);
      has_span = has_span || is_span(argument, options);
    }
  };
  add_arguments(options.arguments);
  for (const Arguments& arguments : options.vs) {
    words.emplace_back("--vs");
    add_arguments(arguments);
  }
  if (!has_span) return {};
  const auto add_time = [&](const char* option, std::optional<std::uint64_t> time) {
    if (time) words.insert(words.end(), {option, format_local_time(*time)});
  };
  for (const Span& span : options.spans) {
    add_time("--since", span.since);
    add_time("--until",
             span.until ? std::optional(round_up_to_seconds(*span.until)) : std::nullopt);
  }
  std::vector<const char*> texts;
  for (const std::string& word : words) texts.push_back(word.c_str());
  return quote_command_line(static_cast<int>(texts.size()), texts.data());
}

// Resolves the arguments of each side. Standard input can be read only once.
Result<std::vector<std::vector<CaptureArgument>>> resolve_arguments(const InputOptions& options) {
  std::vector<Arguments> arguments_by_side = options.vs;
  if (arguments_by_side.empty())
    for (const std::string& argument : options.arguments) arguments_by_side.push_back({argument});
  else
    arguments_by_side.insert(arguments_by_side.begin(), options.arguments);
  expand_interleaved_sides(arguments_by_side, options);
  if (options.spans.size() > arguments_by_side.size())
    return Error{"--since or --until is specified " + std::to_string(options.spans.size()) +
                 " times, but each is possible once per side, and there " +
                 (arguments_by_side.size() == 1
                      ? "is 1 side"
                      : "are " + std::to_string(arguments_by_side.size()) + " sides")};
  std::vector<std::vector<CaptureArgument>> sides;
  bool reads_stdin = false;
  for (const auto& arguments : arguments_by_side) {
    const std::size_t side = sides.size();
    const Span span =
        options.spans.empty() ? Span{} : options.spans[std::min(side, options.spans.size() - 1)];
    sides.emplace_back();
    for (const std::string& argument : arguments) {
      if (argument == "-" && std::exchange(reads_stdin, true))
        return Error{"standard input can be read as one file, not as two"};
      CTPROF_TRY_VALUE(auto resolved, resolve_argument(argument, options, span));
      sides.back().push_back(std::move(resolved));
    }
  }
  return sides;
}

}  // namespace ctprof::cli

#include "tools/ctprof/commands/report.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/capture/capture.hpp"
#include "core/compare/asked/expressions.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/compare/figures/added_metrics.hpp"
#include "core/compare/report/noise.hpp"
#include "core/compare/report/report.hpp"
#include "core/compare/report/screen_order.hpp"
#include "core/file/file.hpp"
#include "core/render/asleep_text.hpp"
#include "core/render/columns.hpp"
#include "core/render/noise_text.hpp"
#include "core/render/report_csv.hpp"
#include "core/render/report_json.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/report_text.hpp"
#include "core/render/screen_text.hpp"
#include "core/render/stacks_text.hpp"
#include "core/render/terminal_text.hpp"
#include "core/window/happened.hpp"
#include "tools/ctprof/commands/commands.hpp"
#include "tools/ctprof/inputs/chosen_names.hpp"
#include "tools/ctprof/inputs/late_runs.hpp"
#include "tools/ctprof/inputs/screen_metrics.hpp"
#include "tools/ctprof/inputs/sides.hpp"
#include "tools/ctprof/runtime/activity_error.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/pager.hpp"
#include "tools/ctprof/runtime/privileges.hpp"
#include "tools/ctprof/runtime/progress.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

bool needs_rule_of_plugin(const Snapshot& snapshot) {
  const RuleBook built_in;
  return std::any_of(snapshot.tables.begin(), snapshot.tables.end(), [&](const Table& table) {
    return std::any_of(table.columns.begin(), table.columns.end(),
                       [&](const Column& column) { return !built_in.find(column.def().rule); });
  });
}

bool needs_plugins(const Snapshot& snapshot) {
  return snapshot.foreign || needs_rule_of_plugin(snapshot);
}

std::vector<DerivedDef> derived_of_layouts(const Registry& layouts) {
  std::vector<DerivedDef> derived;
  for (const Plugin& plugin : layouts.plugins())
    derived.insert(derived.end(), plugin.derived.begin(), plugin.derived.end());
  return derived;
}

}  // namespace

PluginsOnDemand::PluginsOnDemand(Options options, Registry layouts)
    : options_(std::move(options)),
      layouts_(std::move(layouts)),
      derived_of_layouts_(derived_of_layouts(layouts_)) {}

Result<PluginsOnDemand> PluginsOnDemand::open(const Options& options) {
  auto layouts = load_registry(options, Load::Layouts);
  if (!layouts) return layouts.error();
  return PluginsOnDemand(options, std::move(*layouts));
}

Result<bool> PluginsOnDemand::need_all(std::span<const Snapshot> captures) {
  if (std::ranges::none_of(captures, needs_plugins)) return false;
  if (all_) return true;
  auto all = load_registry(options_);
  if (!all) return all.error();
  all_.emplace(std::move(*all));
  derived_of_all_ = all_->derived_with({});  // metrics of recorders define themselves
  return true;
}

Knowledge PluginsOnDemand::knowledge(bool of_all) const {
  if (of_all) return {&all_->rules(), derived_of_all_};
  return {&layouts_.rules(), derived_of_layouts_};
}

Result<ReportFiles> ReportFiles::load(const std::string& file, const Options& options) {
  const auto read = [&](const Vocabulary& vocabulary) -> Result<std::vector<Snapshot>> {
    auto snapshot = naming({&file, 1}, "reading", [&] { return load_file(file, vocabulary); });
    if (!snapshot) return snapshot.error();
    note_read(options, file, {&*snapshot, 1});
    std::vector<Snapshot> snapshots;
    snapshots.push_back(std::move(*snapshot));
    return snapshots;
  };
  return load(read, options);
}

Result<ReportFiles> ReportFiles::load(const Read& read, const Options& options) {
  auto plugins = PluginsOnDemand::open(options);
  if (!plugins) return plugins.error();
  ReportFiles loaded(std::move(*plugins));
  auto snapshots = read(loaded.vocabulary());
  if (!snapshots) return snapshots.error();
  loaded.snapshots_ = std::move(*snapshots);
  for (const Snapshot& snapshot : loaded.snapshots_)
    for (const std::string& sentence : snapshot.told) note(options, sentence);
  for (Snapshot& snapshot : loaded.snapshots_)
    if (snapshot.window) to_differences(snapshot);
  const auto needs_all = loaded.plugins_.need_all(loaded.snapshots_);
  if (!needs_all) return needs_all.error();
  loaded.needs_all_ = *needs_all;
  return loaded;
}

namespace {

Result<ColumnChoice> columns_of(const Options& options, ReportKind kind) {
  if (options.columns) return parse_columns(*options.columns, kind);
  return options.display_format.empty() ? default_columns(kind)
                                        : parse_display_format(options.display_format);
}

// The requested report, and its columns.
struct Asked {
  ReportKind kind;
  Spec spec;
  ColumnChoice columns;
};

Result<Asked> read_asked(const Options& options, ReportKind kind) {
  if (kind == ReportKind::Show && options.rate) return Error{"--rate needs two sides"};
  if (kind == ReportKind::Show && !options.display_format.empty())
    return Error{"--display-format needs two sides"};
  auto spec = spec_of(options, kind);
  if (!spec) return spec.error();
  auto columns = columns_of(options, kind);
  if (!columns) return columns.error();
  return Asked{kind, std::move(*spec), std::move(*columns)};
}

// Reports all errors in the options before any file is opened. Only the files determine whether
// `compare` has sides to compare or one window to show, so options that fit either case are
// accepted until then.
Result<void> check_asked(const Options& options) {
  const bool shows = options.verb != "compare";
  const auto asked = read_asked(options, shows ? ReportKind::Show : ReportKind::Compare);
  if (asked) {
    for (const std::string& sentence : misplaced_sections(asked->spec)) note(options, sentence);
    return {};
  }
  const bool may_show = !shows && !options.lifetime && options.vs.empty();
  if (may_show && read_asked(options, ReportKind::Show)) return {};
  return asked.error();
}

// Returns the request for this number of sides.
Result<Asked> asked_of(const Options& options, const Sides& sides) {
  const bool shows = sides.sizes.size() == 1;
  auto asked = read_asked(options, shows ? ReportKind::Show : ReportKind::Compare);
  if (!asked && shows && options.verb == "compare")
    return Error{asked.error().text + "; '" + sides.names.front() +
                 "' is one window and is shown; --lifetime compares its two ends"};
  if (asked) asked->spec.side_sizes = sides.sizes;
  return asked;
}

// Prints notes about data that CSV cannot represent.
void note_leftovers(const Report& report, std::size_t left_out, const Options& options) {
  if (left_out > 0) note(options, left_out_in_words(left_out));
  for (const std::string& sentence : report.notes()) note(options, printable(sentence));
  if (report.screen() && !report.screen()->about_rows.empty())
    note(options, "CSV does not contain the rows of --about; use --format json");
  for (const RunFacts& side : report.sides())
    for (const Takeover& takeover : side.meta.takeovers) note(options, takeover_in_words(takeover));
  for (const CgroupRename& rename : report.grouping().renames)
    note(options, rename_in_words(rename));
  for (const Section& section : report.sections())
    if (section.cut)
      note(options, "section '" + printable(section.name) +
                        "': " + counted(section.cut, "more row") + " beyond --limit");
  for (const Section& section : report.sections())
    if (section.cut_keys)
      note(options, "section '" + printable(section.name) +
                        "': " + counted(section.cut_keys, "more key") + " of a map beyond --limit");
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    if (const std::size_t cut = report.only(side).cut)
      note(options, "only in the " + side_name(side) + ": " + counted(cut, "more group") +
                        " beyond --limit");
}

// Writes to standard output. When write() fails, the error has been printed.
class Printed final : public Sink {
 public:
  Result<void> write(std::string_view text) override {
    status = print(text);
    if (status != kFine) return error("writing", "standard output", "the write failed");
    return {};
  }
  int status = kFine;
};

// Sorting by metrics applies only to tables; sorting by columns of the screen does not.
bool shows_screen(const Report& report, const Options& options) {
  if (!report.screen() || wants_details(options)) return false;
  return options.sort_by.empty() || name_columns(report.spec(), *report.screen());
}

std::string text_of(const Report& report, std::span<const std::string> files,
                    const ColumnChoice& columns, const Options& options) {
  const TextLayout layout{terminal_width(), use_color(options), options.wrap};
  if (shows_screen(report, options))
    return screen_text(report, files,
                       {layout, terminal_lines(), options.limit, std::string(kRecordWaits)}) +
           stacks_text(report, layout, options.limit, options.idle);
  const bool are_named = !report.spec().sections.empty() || !report.spec().metrics.empty();
  return report_text(report, files, columns, layout, asleep_text(report, layout, options.limit)) +
         (are_named && !options.details ? stacks_text(report, layout, options.limit, options.idle)
                                        : "");
}

int print_report(const Report& report, std::span<const std::string> files,
                 const ColumnChoice& columns, const Options& options) {
  if (options.format == Format::Text)
    return page(options, text_of(report, files, columns, options));
  Printed sink;
  if (options.format == Format::Json) {
    if (!write_report_json(report, files, sink)) return sink.status;
  } else if (const auto left_out = write_report_csv(report, sink, options.csv_safe)) {
    note_leftovers(report, *left_out, options);
  }
  return sink.status;
}

int print_noise(const Report& report, const std::string& files, const Options& options) {
  const auto noise = [&] {
    const Busy busy(options, "splitting runs in halves");
    return noise_of(report, options.shift);
  }();
  if (!noise) return fail(noise.error());
  const std::size_t limit = report.spec().limit;
  if (options.format == Format::Json) return print(noise_json(report, *noise, files, limit));
  const TextLayout layout{terminal_width(), use_color(options), options.wrap};
  return page(options, noise_text(report, *noise, files, layout, limit));
}

// Approximate size of a thread in a file, in bytes.
constexpr std::size_t kTextOfThread = 2700;

// Takes a snapshot of this host. Its memory limit is computed as if it had come from a file, so
// that the snapshot that it is compared with gets the usual limit.
Result<Snapshot> take_now(const Options& options) {
  auto registry = load_metrics(options, Load::Capture);
  if (!registry) return registry.error();
  std::vector<Refusal> refused;
  auto now = capture(*registry, {}, &refused);
  note_unused(options, refused);
  if (now) now->text_bytes = kTextOfThread * now->threads().rows;
  return now;
}

// Only the rows of a map contain its keys.
bool needs_all_rows(const Options& options) {
  return std::ranges::any_of(std::array{ReportKind::Show, ReportKind::Compare},
                             [&](ReportKind kind) {
                               const auto asked = read_asked(options, kind);
                               return asked && names_keys(asked->spec);
                             });
}

Result<Report> make_report(const ReportFiles& loaded, const Spec& spec, LateRuns& late,
                           const Options& options) {
  std::vector<const Snapshot*> runs;
  for (const Snapshot& snapshot : loaded.snapshots()) runs.push_back(&snapshot);
  const Busy busy(options, "analyzing " + count(runs.size(), "window"));
  if (!runs.front()->rows_in_file) return Report::make(runs, spec, loaded.knowledge());
  return Report::make(
      runs, [&](std::size_t run) { return late.take(run); }, spec, loaded.knowledge());
}

// Returns none if the rows of a file, which are read later, no longer fit its outline.
std::optional<int> report_on(const Options& options, const Teller& tell, Rows rows) {
  // --plugins selects metrics by the plugins that filled them in the files. The installed plugins
  // only provide rules, so all are loaded.
  Options every_plugin = options;
  every_plugin.plugins.reset();
  Sides sides;
  auto loaded = ReportFiles::load(
      [&](const Vocabulary& vocabulary) -> Result<std::vector<Snapshot>> {
        const Busy busy(options, "reading");
        auto found = read_sides(
            every_plugin, vocabulary, [&] { return take_now(every_plugin); }, rows);
        if (!found) return found.error();
        if (auto dropped = drop_privileges(); !dropped) return dropped.error();
        sides = std::move(*found);
        return std::move(sides.runs);
      },
      every_plugin);
  if (!loaded) return fail(loaded.error());
  const auto asked = asked_of(options, sides);
  if (!asked) return fail(asked.error());
  return naming(sides.names, asked->kind == ReportKind::Show ? "showing" : "comparing",
                [&]() -> std::optional<int> {
                  LateRuns late(loaded->snapshots(), sides.files, loaded->vocabulary());
                  const auto report = make_report(*loaded, asked->spec, late, options);
                  if (!report && late.any_unlike()) return std::nullopt;
                  if (!report) return fail(report.error());
                  loaded->let_snapshots_go();
                  return tell(*report, sides.names, asked->columns);
                });
}

}  // namespace

int report_on(const Options& options, const Teller& tell) {
  if (auto sound = check_asked(options); !sound) return fail(sound.error());
  if (!needs_all_rows(options))
    if (const auto status = report_on(options, tell, Rows::MayBeLater)) return *status;
  return *report_on(options, tell, Rows::Now);
}

namespace {

int print_report_on(const Options& options) {
  return report_on(options, [&](const Report& report, std::span<const std::string> files,
                                const ColumnChoice& columns) {
    if (options.verb == "noise") return print_noise(report, files.front(), options);
    const int status = print_report(report, files, columns, options);
    return status == kFine && !report.failed().rows.empty() ? kFindings : status;
  });
}

}  // namespace

int run_show(const Options& options) {
  if (!options.arguments.empty()) return print_report_on(options);
  const auto newest = newest_recording();
  if (!newest)
    return fail(
        "show takes a file, and this directory has no recording: ctprof record -d 5s, then ctprof "
        "show");
  note(options, "showing '" + *newest + "', the newest recording here");
  Options chosen = options;
  chosen.arguments = {*newest};
  return print_report_on(chosen);
}

int run_noise(const Options& options) {
  if (options.arguments.empty()) return fail("noise takes a directory of runs: ctprof noise DIR");
  return print_report_on(options);
}

int run_compare(const Options& options) {
  if (options.arguments.empty() && !options.vs.empty()) return fail(needs_both_sides());
  if (options.arguments.empty())
    return fail("compare takes files: ctprof compare BEFORE AFTER; see `ctprof compare --help`");
  if (!may_need_now(options))
    if (auto dropped = drop_privileges(); !dropped) return fail(dropped.error());
  return print_report_on(options);
}

}  // namespace ctprof::cli

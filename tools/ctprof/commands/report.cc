#include "tools/ctprof/commands/report.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/capture/capture.hpp"
#include "core/compare/figures/added_metrics.hpp"
#include "core/compare/report/report.hpp"
#include "core/compare/request/expressions.hpp"
#include "core/compare/request/spec.hpp"
#include "core/file/capture_file.hpp"
#include "core/render/columns.hpp"
#include "core/window/differences.hpp"
#include "tools/ctprof/inputs/deferred_runs.hpp"
#include "tools/ctprof/inputs/sides.hpp"
#include "tools/ctprof/runtime/activity_error.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/privileges.hpp"
#include "tools/ctprof/runtime/progress.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

bool needs_rule_of_plugin(const Snapshot& snapshot) {
  const RuleSet built_in;
  return std::any_of(snapshot.tables.begin(), snapshot.tables.end(), [&](const Table& table) {
    return std::any_of(table.columns.begin(), table.columns.end(),
                       [&](const Column& column) { return !built_in.find(column.def().rule); });
  });
}

bool needs_plugins(const Snapshot& snapshot) {
  return snapshot.is_foreign || needs_rule_of_plugin(snapshot);
}

std::vector<DerivedDef> derived_of_layouts(const Registry& layouts) {
  std::vector<DerivedDef> derived;
  for (const Plugin& plugin : layouts.plugins())
    derived.insert(derived.end(), plugin.derived_metrics.begin(), plugin.derived_metrics.end());
  return derived;
}

}  // namespace

PluginsOnDemand::PluginsOnDemand(CommonOptions options, Registry layouts)
    : options_(std::move(options)),
      layouts_(std::move(layouts)),
      derived_of_layouts_(derived_of_layouts(layouts_)) {}

Result<PluginsOnDemand> PluginsOnDemand::open(const CommonOptions& options) {
  CTPROF_TRY_VALUE(auto layouts, load_registry(options, LoadScope::Layouts));
  return PluginsOnDemand(options, std::move(layouts));
}

Result<bool> PluginsOnDemand::load_all_if_needed(std::span<const Snapshot> captures) {
  if (std::ranges::none_of(captures, needs_plugins)) return false;
  if (all_) return true;
  CTPROF_TRY_VALUE(auto all, load_registry(options_));
  all_.emplace(std::move(all));
  derived_of_all_ = all_->derived_metrics_for({});  // files define those of recorders
  return true;
}

PluginDefinitions PluginsOnDemand::definitions(bool of_all_plugins) const {
  if (of_all_plugins) return {&all_->rules(), derived_of_all_};
  return {&layouts_.rules(), derived_of_layouts_};
}

Result<ReportFiles> ReportFiles::load(const std::string& file, const CommonOptions& options) {
  const auto read = [&](const Vocabulary& vocabulary) -> Result<std::vector<Snapshot>> {
    CTPROF_TRY_VALUE(auto snapshot, with_error_context({&file, 1}, "reading", [&] {
                       return load_file(file, vocabulary);
                     }));
    note_read(options, file, {&snapshot, 1});
    std::vector<Snapshot> snapshots;
    snapshots.push_back(std::move(snapshot));
    return snapshots;
  };
  return load(read, options);
}

Result<ReportFiles> ReportFiles::load(const Read& read, const CommonOptions& options) {
  CTPROF_TRY_VALUE(auto plugins, PluginsOnDemand::open(options));
  ReportFiles loaded(std::move(plugins));
  CTPROF_TRY_VALUE(auto snapshots, read(loaded.vocabulary()));
  loaded.snapshots_ = std::move(snapshots);
  for (const Snapshot& snapshot : loaded.snapshots_)
    for (const std::string& sentence : snapshot.load_messages) print_note(options, sentence);
  for (Snapshot& snapshot : loaded.snapshots_)
    if (snapshot.window) convert_to_differences(snapshot);
  CTPROF_TRY_VALUE(const auto needs_all, loaded.plugins_.load_all_if_needed(loaded.snapshots_));
  loaded.needs_all_ = needs_all;
  return loaded;
}

namespace {

Result<ColumnChoice> choose_columns(const ReportOptions& options, ReportKind kind) {
  if (options.columns) return parse_columns(*options.columns, kind);
  ColumnChoice columns = options.display_format.value_or(get_default_columns(kind));
  if (!options.entity.empty())  // each group is one row
    std::erase(columns.columns, ReportColumn::Threads);
  return columns;
}

// The requested report, and its columns.
struct ReportRequest {
  ReportKind kind;
  Spec spec;
  ColumnChoice columns;
};

Result<ReportRequest> read_request(const ReportOptions& options, ReportKind kind) {
  if (kind == ReportKind::Show && options.rate) return Error{"--rate needs two sides"};
  if (kind == ReportKind::Show && options.display_format)
    return Error{"--display-format needs two sides"};
  CTPROF_TRY_VALUE(auto spec, make_spec(options, kind));
  CTPROF_TRY_VALUE(auto columns, choose_columns(options, kind));
  return ReportRequest{kind, std::move(spec), std::move(columns)};
}

// Reports all errors in the options before any file is opened. Only the files determine whether
// `compare` has sides to compare or one window to show, so options that fit either case are
// accepted until then.
Result<void> check_request(const ReportOptions& options) {
  const bool shows = options.command_name != "compare";
  const auto request = read_request(options, shows ? ReportKind::Show : ReportKind::Compare);
  if (request) {
    for (const std::string& sentence : describe_misplaced_sections(request->spec))
      print_note(options, sentence);
    return {};
  }
  const bool may_show = !shows && !options.lifetime && options.vs.empty();
  if (may_show && read_request(options, ReportKind::Show)) return {};
  return request.error();
}

// Returns the request for this number of sides.
Result<ReportRequest> make_request(const ReportOptions& options, const Sides& sides) {
  const bool shows = sides.sizes.size() == 1;
  auto request = read_request(options, shows ? ReportKind::Show : ReportKind::Compare);
  if (!request && shows && options.command_name == "compare")
    return Error{request.error().text + "; '" + sides.names.front() +
                 "' is one window, which is only shown; --lifetime compares its two ends"};
  if (request) request->spec.side_sizes = sides.sizes;
  return request;
}

// Approximate size of a thread in a file, in bytes.
constexpr std::size_t kTextBytesPerThread = 2700;

// Takes a snapshot of this host. Its memory limit is computed as if it had come from a file, so
// that the snapshot that it is compared with gets the usual limit.
Result<Snapshot> capture_host(const ReportOptions& options) {
  CTPROF_TRY_VALUE(auto registry,
                   load_metrics(options, capture_scope(false, options.metrics.has_value())));
  std::vector<Refusal> refused;
  auto now = capture(registry, {}, &refused);
  note_unused(options, refused);
  if (now) now->text_bytes = kTextBytesPerThread * now->threads().rows;
  return now;
}

// Only the rows of a map contain its keys.
bool needs_all_rows(const ReportOptions& options) {
  return std::ranges::any_of(std::array{ReportKind::Show, ReportKind::Compare},
                             [&](ReportKind kind) {
                               const auto request = read_request(options, kind);
                               return request && may_name_map_keys(request->spec);
                             });
}

Result<Report> make_report(const ReportFiles& loaded, const Spec& spec, DeferredRuns& deferred_runs,
                           const ReportOptions& options) {
  std::vector<const Snapshot*> runs;
  for (const Snapshot& snapshot : loaded.snapshots()) runs.push_back(&snapshot);
  const ActivityProgress busy(options, "analyzing " + format_count(runs.size(), "window"));
  if (!runs.front()->rows_in_file) return Report::make(runs, spec, loaded.definitions());
  return Report::make(
      runs, [&](std::size_t run) { return deferred_runs.load_run(run); }, spec,
      loaded.definitions());
}

// Returns none if the rows of a file, which are read later, no longer fit its outline.
std::optional<int> make_and_print_report(const ReportOptions& options, const ReportPrinter& printer,
                                         RowLoading row_loading) {
  // --plugins selects metrics by the plugins that filled them in the files. The installed plugins
  // only provide rules, so all are loaded.
  ReportOptions options_with_all_plugins = options;
  options_with_all_plugins.plugins.reset();
  Sides sides;
  auto loaded = ReportFiles::load(
      [&](const Vocabulary& vocabulary) -> Result<std::vector<Snapshot>> {
        const ActivityProgress busy(options, "reading");
        CTPROF_TRY_VALUE(auto found,
                         read_sides(
                             options_with_all_plugins, vocabulary,
                             [&] { return capture_host(options_with_all_plugins); }, row_loading));
        CTPROF_TRY(drop_privileges());
        sides = std::move(found);
        return std::move(sides.runs);
      },
      options_with_all_plugins);
  if (!loaded) return fail(loaded.error());
  const auto request = make_request(options, sides);
  if (!request) return fail(request.error());
  return with_error_context(
      sides.names, request->kind == ReportKind::Show ? "showing" : "comparing",
      [&]() -> std::optional<int> {
        DeferredRuns deferred_runs(loaded->snapshots(), sides.files, loaded->vocabulary());
        const auto report = make_report(*loaded, request->spec, deferred_runs, options);
        if (!report && deferred_runs.any_changed()) return std::nullopt;
        if (!report) return fail(report.error());
        loaded->release_snapshots();
        return printer(*report, sides.names, request->columns);
      });
}

}  // namespace

int make_and_print_report(const ReportOptions& options, const ReportPrinter& printer) {
  if (auto valid = check_request(options); !valid) return fail(valid.error());
  if (!needs_all_rows(options))
    if (const auto status = make_and_print_report(options, printer, RowLoading::MayBeDeferred))
      return *status;
  return *make_and_print_report(options, printer, RowLoading::Immediate);
}

}  // namespace ctprof::cli

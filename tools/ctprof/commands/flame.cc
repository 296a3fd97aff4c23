// ctprof flame: draws the call stacks of windows, or the difference between two sides, as a flame
// graph for browsers.

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/compare/evidence/designs.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/plan_metrics.hpp"
#include "core/compare/figures/where.hpp"
#include "core/compare/request/expressions.hpp"
#include "core/file/file.hpp"
#include "core/file/write/out_file.hpp"
#include "core/flame/flame_page.hpp"
#include "core/flame/window_profile.hpp"
#include "core/render/terminal_text.hpp"
#include "core/window/differences.hpp"
#include "tools/ctprof/commands/export_options.hpp"
#include "tools/ctprof/commands/stack_files.hpp"
#include "tools/ctprof/inputs/default_names.hpp"
#include "tools/ctprof/inputs/loaded_arguments.hpp"
#include "tools/ctprof/inputs/sides.hpp"
#include "tools/ctprof/options/command.hpp"
#include "tools/ctprof/runtime/activity_error.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/output_file.hpp"
#include "tools/ctprof/runtime/progress.hpp"
#include "tools/ctprof/runtime/redaction.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

struct FlameOptions : InputOptions,
                      OutputOptions,
                      GroupByOption,
                      WhereOption,
                      ThresholdOptions,
                      SharesOption,
                      IdleOption,
                      StackMetricOption {
  bool root_below = false;
};

constexpr auto kFlameOptions = option_list<FlameOptions>(
    kOutput, kStackMetric,
    switch_off("icicle", member<&FlameOptions::root_below>,
               "Draw callers above their callees. This is the default."),
    switch_on("root-below", member<&FlameOptions::root_below>, "Draw callers below their callees."),
    kIdle, kWriting, kVerbose, kGroupBy, kWhere, kShares, kAlphaOption, kMinShiftOption, kVs, kSpan,
    kScreen, kQuietAndHelp);

// The stacks of a window that are drawn or exported.
struct StackChoice {
  std::string group_key;
  std::string metric;     // empty: all
  WhereConditions where;  // of threads
};

// A window and its stack profile, which points into the window.
struct LoadedRun {
  std::string name;  // of its file or side
  Snapshot window;
  StackProfile profile;

  double seconds() const {
    if (!window.window) return 0;
    return static_cast<double>(window.meta.start.boottime_ns -
                               window.window->opened_at.boottime_ns) /
           1e9;
  }
};

// Returns the threads that --where keeps.
Result<SelectedThreads> select_threads(const Snapshot& window, const WhereConditions& where) {
  if (where.conditions.empty()) return SelectedThreads();
  const RuleSet rules;
  const Snapshot* const sides[] = {&window};
  CTPROF_TRY_VALUE(const auto plan, plan_metrics(sides, Spec{}, {&rules, {}}));
  CTPROF_TRY_VALUE(const auto sorted, classify_conditions(where, sides, plan));
  if (!sorted.groups.empty())
    return Error{
        "flame: --where accepts only metrics of threads, such as pcomm, comm or run_time_ns"};
  return select_rows(window, sorted);
}

Result<LoadedRun> make_loaded_run(std::string name, Snapshot window, const StackChoice& choice,
                                  const CommonOptions& options) {
  CTPROF_TRY_VALUE(const auto owners, parse_owner_key(choice.group_key));
  for (const std::string& sentence : window.load_messages) print_note(options, sentence);
  std::vector<std::string> metrics;
  if (!choice.metric.empty()) metrics.push_back(choice.metric);
  if (window.window) convert_to_differences(window);
  CTPROF_TRY_VALUE(const auto selected_threads, select_threads(window, choice.where));
  auto profile = make_window_profile(window, metrics, owners, selected_threads);
  if (!profile) return Error{"reading '" + name + "': " + profile.error().text};
  return LoadedRun{std::move(name), std::move(window), std::move(*profile)};
}

Result<LoadedRun> load_run_file(const std::string& file, const ExportOptions& options) {
  CTPROF_TRY_VALUE(const auto layouts, load_registry(options, LoadScope::Layouts));
  CTPROF_TRY_VALUE(auto window, load_single_capture(file, layouts.vocabulary(), options));
  note_read(options, file, {&window, 1});
  CTPROF_TRY(redact_if_requested(window, layouts.vocabulary(), options, options));
  return make_loaded_run(file, std::move(window), {options.group_key(), options.metric, {}},
                         options);
}

Result<FlameStyle::Format> choose_output_form(std::string_view output) {
  if (is_standard_output(output) || output.ends_with(".svg")) return FlameStyle::Format::Svg;
  if (output.ends_with(".html")) return FlameStyle::Format::Html;
  return Error{"invalid -o '" + std::string(output) + "': the name must end in .svg or .html"};
}

// --- contents of the flame graph

using LoadedRuns = std::vector<LoadedRun>;

// Flame graphs never need a snapshot of this host.
Result<Snapshot> reject_host_snapshot_for_flames() {
  return Error{"flame requires a recorded window"};
}

// Loads one side, or two: the baseline and the candidate.
Result<std::vector<LoadedRuns>> load_sides(const FlameOptions& options) {
  CTPROF_TRY_VALUE(const auto layouts, load_registry(options, LoadScope::Layouts));
  CTPROF_TRY_VALUE(auto read,
                   read_sides(options, layouts.vocabulary(), &reject_host_snapshot_for_flames));
  if (read.sizes.size() > 2)
    return Error{
        "flame draws one side or the difference of two: separate the runs of two sides by --vs, as "
        "in `ctprof flame A1 A2 --vs B1 B2`"};
  const StackChoice choice{options.group_key(), options.metric, options.where};
  std::vector<LoadedRuns> sides;
  auto next = read.runs.begin();
  for (std::size_t side = 0; side < read.sizes.size(); ++side) {
    LoadedRuns& runs = sides.emplace_back();
    for (std::size_t run = 0; run < read.sizes[side]; ++run) {
      CTPROF_TRY_VALUE(auto loaded,
                       make_loaded_run(read.names[side], std::move(*next++), choice, options));
      runs.push_back(std::move(loaded));
    }
  }
  return sides;
}

// Returns the runs' stacks of that metric.
Result<FlameSide> make_flame_side(const LoadedRuns& runs, const std::string& metric,
                                  bool shows_idle) {
  FlameSide side;
  for (const LoadedRun& run : runs) {
    const auto& values = run.profile.values;
    const auto found = std::ranges::find(values, metric, &StackValue::name);
    if (found == values.end())
      return Error{"reading '" + run.name + "': it has no call stacks of a metric '" + metric +
                   "'"};
    side.push_back({.profile = &run.profile,
                    .value = static_cast<std::size_t>(found - values.begin()),
                    .seconds = run.seconds(),
                    .hides_idle = !shows_idle,
                    .folds_recursion = true});
  }
  return side;
}

// Returns none unless both sides have several runs.
std::optional<SideDesign> make_design(const LoadedRuns& baseline, const LoadedRuns& candidate) {
  std::vector<RunFacts> runs;
  for (const LoadedRuns* side : {&baseline, &candidate})
    for (const LoadedRun& run : *side) runs.emplace_back().meta = run.window.meta;
  const std::array sides{SideRuns{0, baseline.size()}, SideRuns{baseline.size(), candidate.size()}};
  return find_designs(runs, sides).front();
}

Result<FlameTree> make_tree(std::span<const LoadedRuns> sides, const std::string& metric,
                            const FlameOptions& options) {
  CTPROF_TRY_VALUE(const auto candidate, make_flame_side(sides.back(), metric, options.shows_idle));
  if (sides.size() == 1 && options.shares)
    return Error{"--shares compares two sides: name the files of a baseline and of a candidate"};
  if (sides.size() == 1) return make_flame_tree(candidate);
  CTPROF_TRY_VALUE(const auto baseline, make_flame_side(sides.front(), metric, options.shows_idle));
  const auto design = make_design(sides.front(), sides.back());
  if (!design) return make_flame_tree(candidate, baseline, options.shares);
  return make_flame_tree(candidate, baseline, {*design, options.significance, options.shares});
}

// "oncpu_stacks: before → after (3 runs)"
std::string title_of(std::span<const LoadedRuns> sides, const std::string& metric,
                     const FlameOptions& options) {
  std::string title = metric + (options.shares ? " as shares of each group: " : ": ");
  for (const LoadedRuns& runs : sides) {
    title += (&runs == sides.data() ? "" : " → ") + runs.front().name;
    if (runs.size() > 1) title += " (" + std::to_string(runs.size()) + " runs)";
  }
  return title;
}

// Draws the requested metric, or the first one of the candidate.
Result<void> draw(const FlameOptions& options, FlameStyle::Format form, Sink& out) {
  CTPROF_TRY_VALUE(const auto sides, load_sides(options));
  const StackValue& value = sides.back().front().profile.values.front();
  CTPROF_TRY_VALUE(const auto tree, make_tree(sides, value.name, options));
  const FlameStyle style{.format = form,
                         .title = title_of(sides, value.name, options),
                         .unit = value.unit,
                         .is_icicle = !options.root_below,
                         .is_waiting = value.is_waiting};
  return out.write(make_flame_page(tree, style));
}

}  // namespace

Result<std::uint64_t> export_stacks(const std::string& file, const StackFormat& form,
                                    const Target& target, const ExportOptions& options) {
  CTPROF_TRY_VALUE(const auto loaded, load_run_file(file, options));
  return write_to(target, options, [&](Sink& sink) { return form.write(loaded.profile, sink); });
}

const StackFormat* find_stack_form(std::string_view name) {
  for (const StackFormat& form : get_stack_formats())
    if (form.name == name) return &form;
  return nullptr;
}

namespace {

int run_flame(const FlameOptions& parsed_options) {
  if (parsed_options.arguments.empty() && !parsed_options.vs.empty())
    return fail(missing_side_error());
  if (parsed_options.arguments.empty()) return fail("missing FILE; see `ctprof flame --help`");
  FlameOptions options = parsed_options;
  if (options.output.empty())
    options.output = default_output_name(options.arguments.front(), ".svg");
  const auto target = open_checked_target(options, kPageFile);
  if (!target) return fail(target.error());
  const auto form = choose_output_form(options.output);
  if (!form) return fail(form.error());
  return with_error_context(options.arguments, "drawing", [&] {
    const ActivityProgress busy(options, "drawing " + target->name);
    const auto written =
        write_to(*target, options, [&](Sink& out) { return draw(options, *form, out); });
    return written ? report_written_file(options, *target, *written) : fail(written.error());
  });
}

}  // namespace

extern constinit const CommandInfo kFlameCommand = make_command<FlameOptions, run_flame>(
    {.name = "flame",
     .similar_names = "flamegraph,graph,svg",
     .arguments = "FILE | BEFORE AFTER | A... --vs B... [-o FILE.svg|.html]",
     .summary = "draw a flame graph of call stacks, or of their difference",
     .example = "ctprof flame run.ctprof.zst -o run.svg",
     .max_arguments = kAnyNumber},
    kFlameOptions);

}  // namespace ctprof::cli

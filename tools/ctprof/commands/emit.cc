#include "tools/ctprof/commands/emit.hpp"

#include <array>
#include <optional>
#include <utility>

#include "core/output/make_output_window.hpp"
#include "core/render/terminal_text.hpp"
#include "tools/ctprof/commands/report.hpp"
#include "tools/ctprof/live/window_copy.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/outputs.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

// The time to wait after the last window for outputs that do not answer.
constexpr std::chrono::seconds kFinishPatience{5};
// The largest number of values in a window, like the default of `export --max-series`.
constexpr std::size_t kMaxValues = 5000;

// Returns the request of a report with the first screen's metrics, or those of --metrics.
Result<Spec> make_emit_spec(const CommonOptions& options, const MetricChoice& choice) {
  ReportOptions report;
  report.command_name = options.command_name;
  report.metrics = choice.metrics;
  CTPROF_TRY_VALUE(auto spec, make_spec(report, ReportKind::Show));
  spec.busiest = false;
  spec.tests_rows = false;
  return spec;
}

Result<OutputWindow> make_window(const Snapshot& differences, const Registry& registry,
                                 const Spec& spec) {
  const std::array<const Snapshot*, 1> runs{&differences};
  const std::vector<DerivedDef> derived = registry.derived_metrics_for({});
  CTPROF_TRY_VALUE(const auto report, Report::make(runs, spec, {&registry.rules(), derived}));
  return make_output_window(report, {.max_values = kMaxValues});
}

// Returns none if all windows were delivered.
std::optional<std::string> describe_losses(const OutputCounts& counts) {
  std::vector<std::string> losses;
  if (counts.dropped > 0)
    losses.push_back(std::to_string(counts.dropped) +
                     " dropped, because it was too slow or had ended");
  if (counts.failed > 0) losses.push_back(std::to_string(counts.failed) + " not delivered");
  if (counts.lost > 0) losses.push_back(std::to_string(counts.lost) + " lost when it ended");
  if (losses.empty()) return std::nullopt;
  return "of " + format_count(counts.passed + counts.dropped, "window") + ", " + join_texts(losses);
}

// Moves new messages of the process, and lines that it printed.
void move_messages(const std::string& name, OutputProcess& process,
                   std::vector<std::string>& messages) {
  for (const std::string& line : process.take_printed_lines())
    messages.push_back(describe_printed_line(name, line));
  for (const std::string& text : process.take_messages())
    messages.push_back("output '" + name + "': " + text);
}

}  // namespace

Result<Emitter> Emitter::start(const CommonOptions& options, const EmitOption& emit,
                               const MetricChoice& choice, int bytes_fd) {
  CTPROF_TRY_VALUE(auto spec, make_emit_spec(options, choice));
  Emitter emitter(std::move(spec));
  for (const std::string& name : emit.outputs) {
    CTPROF_TRY_VALUE(auto process, start_output(options, name, bytes_fd));
    if (!process.description().thread_metrics.empty())
      return error("starting output", name,
                   "it needs rows of threads, which only `ctprof export` provides");
    emitter.outputs_.push_back({name, std::move(process)});
  }
  return emitter;
}

void Emitter::pass(const Snapshot& window, const Registry& registry) {
  if (!is_enabled()) return;
  const auto differences = live::copy_differences(window, registry.vocabulary());
  if (differences)
    pass_differences(*differences, registry);
  else
    messages_.push_back("cannot make a window for outputs: " + differences.error().text);
}

void Emitter::pass_differences(const Snapshot& window, const Registry& registry) {
  if (!is_enabled()) return;
  const auto made = make_window(window, registry, spec_);
  if (!made) return messages_.push_back("cannot make a window for outputs: " + made.error().text);
  for (Output& output : outputs_)
    if (!output.process.pass(*made) && std::exchange(output.reports_drops, false))
      messages_.push_back("output '" + output.name +
                          "' loses windows: it is too slow, or has ended");
}

std::vector<std::string> Emitter::take_messages() {
  for (Output& output : outputs_) move_messages(output.name, output.process, messages_);
  return std::exchange(messages_, {});
}

std::vector<std::string> Emitter::finish() {
  for (Output& output : outputs_) {
    // One of the messages reports the error of finish().
    [[maybe_unused]] const auto finished = output.process.finish(kFinishPatience);
    move_messages(output.name, output.process, messages_);
    if (const auto losses = describe_losses(output.process.counts()))
      messages_.push_back("output '" + output.name + "': " + *losses);
  }
  return std::exchange(messages_, {});
}

void print_notes(const CommonOptions& options, std::span<const std::string> sentences) {
  for (const std::string& sentence : sentences) print_note(options, make_printable(sentence));
}

}  // namespace ctprof::cli

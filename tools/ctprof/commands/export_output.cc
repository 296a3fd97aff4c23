#include "tools/ctprof/commands/export_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include "core/output/make_output_window.hpp"
#include "core/output/make_thread_window.hpp"
#include "core/render/terminal_text.hpp"
#include "core/window/differences.hpp"
#include "tools/ctprof/commands/export_prometheus.hpp"
#include "tools/ctprof/commands/report.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/output_file.hpp"
#include "tools/ctprof/runtime/outputs.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

// A plugin whose server does not answer has time limits of its own.
constexpr std::chrono::seconds kPatience{60};

// The plugin and the end of a pipe from which its bytes are read; invalid without -o.
struct StartedOutput {
  OutputProcess process;
  sdk::Fd bytes;
};

Result<StartedOutput> start(const ExportOptions& options) {
  std::array<int, 2> ends{-1, -1};
  if (!options.output.empty() && ::pipe2(ends.data(), O_CLOEXEC) != 0)
    return errno_error("creating", "a pipe", errno);
  sdk::Fd read_end(ends[0]);
  const sdk::Fd write_end(ends[1]);
  CTPROF_TRY_VALUE(auto process, start_output(options, options.form.output, ends[1]));
  return StartedOutput{std::move(process), std::move(read_end)};
}

// Passes the window and waits until the plugin has delivered it. `sink`: none without -o.
Result<void> deliver(StartedOutput& output, OutputWindow window, Sink* sink) {
  if (!output.process.pass(std::move(window)))
    return Error{"the window is too large; select fewer --metrics, or a smaller --max-series"};
  OutputProcess::ByteReader reader;
  if (sink)
    reader = {output.bytes.get(), [&](std::string_view bytes) { return sink->write(bytes); }};
  CTPROF_TRY(output.process.finish(kPatience, reader));
  if (output.process.counts().delivered == 1) return {};
  return Error{"it did not deliver the window"};
}

int deliver_to_file(const ExportOptions& options, StartedOutput& output, OutputWindow window) {
  const std::string noun = "file of " + options.form.output;
  const auto target =
      open_checked_target(options, {noun, {output.process.description().signature}});
  if (!target) return fail(target.error());
  const auto written = write_to(
      *target, options, [&](Sink& sink) { return deliver(output, std::move(window), &sink); });
  return written ? report_written_file(options, *target, *written)
                 : fail(error("exporting to", options.form.output, written.error().text));
}

int deliver_window(const ExportOptions& options, StartedOutput& output, OutputWindow window) {
  if (!options.output.empty()) return deliver_to_file(options, output, std::move(window));
  const auto delivered = deliver(output, std::move(window), nullptr);
  if (!delivered) return fail(error("exporting to", options.form.output, delivered.error().text));
  print_note(options, "passed to output '" + options.form.output + "'");
  return kSuccess;
}

int export_groups(ExportOptions options, StartedOutput& output) {
  if (options.redact)
    return fail(
        "--redact is for files and tables; redact the file first: ctprof export FILE --redact -o "
        "PUBLIC, then ctprof export PUBLIC --to " +
        options.form.output);
  const bool all_metrics = take_all_keyword(options);
  return make_and_print_report(options, [&](const Report& report, std::span<const std::string>,
                                            const ColumnChoice&) {
    OutputWindow window = make_output_window(
        report, {.all_metrics = all_metrics, .max_values = options.prometheus.max_series});
    if (window.omitted_rows > 0)
      print_note(options, "left out the " + format_count(window.omitted_rows, "lightest group") +
                              "; raise --max-series, or select fewer --metrics");
    return deliver_window(options, output, std::move(window));
  });
}

int export_threads(const ExportOptions& options, StartedOutput& output, const ReadCapture& read) {
  const auto layouts = load_registry(options, LoadScope::Layouts);
  if (!layouts) return fail(layouts.error());
  auto snapshot = read(layouts->vocabulary());
  if (!snapshot) return fail(snapshot.error());
  if (snapshot->window) convert_to_differences(*snapshot);
  return deliver_window(options, output,
                        make_thread_window(*snapshot, output.process.description().thread_metrics));
}

}  // namespace

int export_to_output(const ExportOptions& options, const ReadCapture& read) {
  auto output = start(options);
  if (!output) return fail(output.error());
  const int status = output->process.description().thread_metrics.empty()
                         ? export_groups(options, *output)
                         : export_threads(options, *output, read);
  for (const std::string& line : output->process.take_printed_lines())
    print_note(options, make_printable(describe_printed_line(options.form.output, line)));
  return status;
}

}  // namespace ctprof::cli

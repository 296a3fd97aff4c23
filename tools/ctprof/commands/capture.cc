// ctprof capture: writes a snapshot to a file and prints one line; with -v also the processes that
// could not be read.

#include "core/capture/capture.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/json_writer.hpp"
#include "core/capture/descriptors.hpp"
#include "core/compare/figures/uncaptured_metrics.hpp"
#include "core/file/file.hpp"
#include "core/registry/call_watch.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/terminal_text.hpp"
#include "ctprof/gap.hpp"
#include "tools/ctprof/options/capture_options.hpp"
#include "tools/ctprof/options/command.hpp"
#include "tools/ctprof/options/output_options.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/missing_rights.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/privileges.hpp"
#include "tools/ctprof/runtime/progress.hpp"
#include "tools/ctprof/runtime/signals.hpp"
#include "tools/ctprof/runtime/strict.hpp"
#include "tools/ctprof/runtime/text.hpp"
#include "tools/ctprof/runtime/unreadable_processes.hpp"

namespace ctprof::cli {
namespace {

struct CaptureCommandOptions : CommonOptions,
                               OutputOptions,
                               HostChoice,
                               RootfsOption,
                               StrictOption {
  bool stacks = false;  // also those of sleeping threads, once, with the snapshot
  FileLayout layout = FileLayout::Rows;

  // The rows layout cannot store stacks.
  Result<void> check(const CommandLine& line) {
    if (stacks && line.has("layout") && layout == FileLayout::Rows)
      return Error{"--stacks requires --layout columns: the rows layout cannot store call stacks"};
    if (stacks) layout = FileLayout::Columns;
    return CommonOptions::check(line);
  }
};

constexpr std::array kLayouts{Word{"rows", FileLayout::Rows}, Word{"columns", FileLayout::Columns}};

constexpr auto kCaptureOptions = option_list<CaptureCommandOptions>(
    kOutput,
    switch_on("stacks", member<&CaptureCommandOptions::stacks>,
              "Also record the stack of every sleeping thread once."),
    kLevel,
    option("layout", "rows|columns", member<&CaptureCommandOptions::layout>, OneOf<kLayouts>(),
           "Select the file layout: rows (default), which the reference tools can read, or "
           "columns, which is smaller and faster.")
        .overridden_by("stacks"),
    kPids, kCgroup, kJobs, kWriting, kNoHostname, kStrict, kVerbose, kMetrics, kScreenAndSchema,
    kPluginChoice, kSet, kRootfs, kQuietAndHelp);

// The result of a capture, for its one line.
struct Outcome {
  const Snapshot& snapshot;
  CellTally cells;
  WriteResult written;
  std::string file;
  std::uint64_t collect_ns;
  std::uint64_t write_ns;  // including syncing
};

struct MetricCount {
  std::size_t filled = 0;
  std::size_t requested = 0;  // number of requested metrics
};

MetricCount count_metrics(const Snapshot& snapshot) {
  MetricCount count;
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns) {
      if (column.def().family == "identity") continue;
      ++count.requested;
      count.filled += !column.provenance.plugin.empty();
    }
  return count;
}

std::string describe_metrics(const MetricCount& metrics) {
  if (metrics.filled == metrics.requested) return format_count(metrics.requested, "metric");
  return std::to_string(metrics.requested - metrics.filled) + " of " +
         format_count(metrics.requested, "metric") + " are not available here (ctprof doctor)";
}

// Some sources take longer, for example those of heaps, so the skew of the threads is printed
// separately.
std::string describe_skew(const Meta& meta) {
  if (!meta.skew_ns) return "";
  const std::string total_skew = format_milliseconds(*meta.skew_ns),
                    threads = format_milliseconds(*meta.thread_skew_ns);
  return ", skew " + total_skew + (threads == total_skew ? "" : " (threads " + threads + ")");
}

std::string describe_times(const Outcome& outcome) {
  const std::uint64_t sync_ns = outcome.written.sync_ns;
  return format_milliseconds(outcome.collect_ns + outcome.write_ns) + " (" +
         format_milliseconds(outcome.collect_ns) + " reading, " +
         format_milliseconds(outcome.write_ns - sync_ns) + " writing" +
         (sync_ns > 0 ? ", " + format_milliseconds(sync_ns) + " syncing" : "") + ")" +
         describe_skew(outcome.snapshot.meta);
}

std::string summary_line(const Outcome& outcome) {
  const Snapshot& snapshot = outcome.snapshot;
  return format_count(snapshot.threads().rows, "thread") + " of " +
         format_count(snapshot.table(Entity::Process).rows, "process", "processes") + ", " +
         describe_metrics(count_metrics(snapshot)) + describe_omitted_metrics(snapshot.meta) +
         "; " + describe_times(outcome) + "; " + make_printable(outcome.file) + ", " +
         format_size(outcome.written.file_bytes) + "\n";
}

std::string json_of(const Outcome& outcome) {
  JsonWriter out(Escape::Unprintable);
  out.put('{');
  out.member("schema", 2);
  out.member("threads", outcome.snapshot.threads().rows);
  out.member("threads_absent", outcome.snapshot.meta.rows_absent);
  out.member("processes", outcome.snapshot.table(Entity::Process).rows);
  out.member("metrics", count_metrics(outcome.snapshot).filled);
  out.member("values", outcome.cells.values);
  out.key("gaps");
  out.put('{');
  for (std::size_t gap = 1; gap < outcome.cells.gaps.size(); ++gap)
    if (outcome.cells.gaps[gap] > 0) out.member(kGapNames[gap], outcome.cells.gaps[gap]);
  out.close('}');
  out.put(',');
  out.key("left_out");
  out.put('[');
  for (const std::string& metric : outcome.snapshot.meta.uncaptured_metrics) {
    out.text(metric);
    out.put(',');
  }
  out.close(']');
  out.put(',');
  out.member("collect_ns", outcome.collect_ns);
  out.member("write_ns", outcome.write_ns);
  out.member("sync_ns", outcome.written.sync_ns);
  out.member("total_ns", outcome.collect_ns + outcome.write_ns);
  if (outcome.snapshot.meta.thread_skew_ns)
    out.member("thread_skew_ns", *outcome.snapshot.meta.thread_skew_ns);
  if (outcome.snapshot.meta.skew_ns) out.member("skew_ns", *outcome.snapshot.meta.skew_ns);
  out.member("file", outcome.file);
  out.member("file_bytes", outcome.written.file_bytes);
  out.member("json_bytes", outcome.written.json_bytes);
  out.close('}');
  out.put('\n');
  return std::string(out.view());
}

// --- the capture ---

// Returns the path of the plugin's library, or the plugin's name.
std::string plugin_file(const std::string& plugin, const Registry& registry) {
  const auto& plugins = registry.plugins();
  const auto it = std::find_if(plugins.begin(), plugins.end(),
                               [&](const Plugin& other) { return other.name == plugin; });
  return it == plugins.end() ? plugin : it->path;
}

void note_slow_call(const CaptureCommandOptions& options, const SlowCall& slow) {
  const std::string where = slow.owner.source.empty() ? "" : slow.owner.source + " ";
  print_note(options, slow.owner.file + ": " + where + "has been in " + slow.function + " for " +
                          std::to_string(slow.duration.count()) + " s");
}

// Captures, and reports plugins that do not return for a long time.
Result<Snapshot> capture_with_watchdog(Registry& registry, const CaptureCommandOptions& options,
                                       EarlyOpener ahead, std::vector<Refusal>& refused) {
  std::optional<CallWatch> watch;
  const ActivityProgress busy(options, "reading this host");
  if (!options.quiet) watch.emplace([&](const SlowCall& slow) { note_slow_call(options, slow); });
  CaptureOptions capture_options{options.rootfs, options.pids, options.metrics, options.jobs,
                                 options.hostname};
  capture_options.cgroup = options.cgroup;
  capture_options.all_cgroups = options.layout == FileLayout::Columns;  // the reference layout has
                                                                        // fewer cgroups
  if (options.stacks) {
    capture_options.record.recorders = {"sleepers"};
    capture_options.record.sample_once = true;
  }
  capture_options.record.names.stop = interrupted_flag();
  capture_options.level = options.level.value_or(Level::Full);
  auto snapshot = capture(registry, capture_options, &refused, std::move(ahead));
  if (watch) watch->finish();
  return snapshot;
}

// Notes sources that failed, metrics that another plugin took over, and the notes of the sources.
void note_sources(const Snapshot& snapshot, const Registry& registry,
                  const CaptureCommandOptions& options) {
  for (const SourceCost& cost : snapshot.meta.sources)
    if (!cost.failed.empty())
      print_note(options, plugin_file(cost.plugin, registry) + ": source '" + cost.source +
                              "' failed: " + cost.failed);
  for (const Takeover& takeover : snapshot.meta.takeovers)
    print_note(options,
               plugin_file(takeover.plugin, registry) + ": " + describe_takeover(takeover));
  for (const std::string& sentence : notes_for_user(snapshot, options))
    print_note(options, sentence);
  if (!options.verbose) return;
  for (const std::string& sentence : describe_unreadable_processes(snapshot))
    print_note(options, sentence);
  if (!snapshot.meta.uncaptured_metrics.empty())
    print_note(options, describe_uncaptured_metrics(snapshot.meta.uncaptured_metrics));
}

// Writes the file with the user's own privileges. Drops the capabilities first, since nothing more
// is read from the kernel.
Result<Outcome> write_snapshot_file(const Snapshot& snapshot, const Registry& registry,
                                    const Target& target, const CaptureCommandOptions& options) {
  CTPROF_TRY(drop_privileges());
  const std::uint64_t start = monotonic_ns();
  const ActivityProgress busy(options, "writing " + target.name);
  set_interrupt_loss(describe_partial_write(target));
  const auto written = write_file(snapshot, registry.vocabulary(), target.destination,
                                  {.layout = options.layout,
                                   .workers = options.jobs,
                                   .sync = options.sync,
                                   .standard_output = output_fd()});
  set_interrupt_loss({});
  if (!written) return written.error();
  const Meta& meta = snapshot.meta;
  return Outcome{snapshot,
                 tally(snapshot),
                 *written,
                 target.name,
                 meta.end.boottime_ns - meta.start.boottime_ns,
                 monotonic_ns() - start};
}

// Prints the line or the JSON about a capture. Uses standard error if the snapshot itself went to
// standard output.
int print_outcome(const Outcome& outcome, bool to_stderr, const CaptureCommandOptions& options) {
  const std::string text =
      options.format == Format::Json ? json_of(outcome) : summary_line(outcome);
  if (!to_stderr) return print(text);
  print_to_stderr(text);
  return kSuccess;
}

// Never frees the object: at process exit the kernel reclaims all memory in one step, which is
// faster.
template <class T>
T& keep_until_exit(T object) {
  static T* const stored = new T(std::move(object));
  return *stored;
}

int run_capture(const CaptureCommandOptions& options) {
  const auto target = open_target(options);
  if (!target) return fail(target.error());
  if (auto checked = check_descriptors(kDescriptors); !checked) return fail(checked.error());
  if (options.stacks)
    if (auto installed = install_interrupt_handlers(); !installed) return fail(installed.error());
  EarlyOpener ahead(options.rootfs);
  auto& registry = keep_until_exit(
      load_metrics(options, capture_scope(options.stacks, options.metrics.has_value()), &ahead));
  // Runs while plugins are still being opened ahead.
  if (auto replaceable = check_target_replaceable(*target, options); !replaceable)
    return fail(replaceable.error());
  if (!registry) return fail(registry.error());
  std::vector<Refusal> refused;
  set_interrupt_loss(describe_unwritten(*target));
  const auto& snapshot =
      keep_until_exit(capture_with_watchdog(*registry, options, std::move(ahead), refused));
  if (!snapshot) return fail(snapshot.error());
  note_unused(options, refused);
  note_sources(*snapshot, *registry, options);
  Shortfall shortfall(options.strict, options.metrics.has_value());
  shortfall.add_refused(*registry);
  shortfall.add(refused);
  shortfall.add(*snapshot);
  const auto outcome = write_snapshot_file(*snapshot, *registry, *target, options);
  if (!outcome) return fail(outcome.error());
  return shortfall.report(options.quiet ? kSuccess
                                        : print_outcome(*outcome, target->is_stdout, options));
}

}  // namespace

extern constinit const CommandInfo kCaptureCommand =
    make_command<CaptureCommandOptions, run_capture>(
        {.name = "capture",
         .similar_names = "snapshot,snap,save,dump,ps",
         .arguments = "-o FILE",
         .summary = "write a snapshot of every thread of this host",
         .example = "ctprof capture -o before.ctprof.zst",
         .reads_kernel = true},
        kCaptureOptions);

}  // namespace ctprof::cli

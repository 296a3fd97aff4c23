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
#include "core/compare/figures/left_out.hpp"
#include "core/file/file.hpp"
#include "core/registry/call_watch.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/terminal_text.hpp"
#include "ctprof/gap.hpp"
#include "tools/ctprof/commands/commands.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/missing_rights.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/privileges.hpp"
#include "tools/ctprof/runtime/progress.hpp"
#include "tools/ctprof/runtime/signals.hpp"
#include "tools/ctprof/runtime/strict.hpp"
#include "tools/ctprof/runtime/text.hpp"
#include "tools/ctprof/runtime/unread.hpp"

namespace ctprof::cli {
namespace {

// The result of a capture, for its one line.
struct Outcome {
  const Snapshot& snapshot;
  CellTally cells;
  Written written;
  std::string file;
  std::uint64_t collect_ns;
  std::uint64_t write_ns;  // including syncing
};

struct MetricCount {
  std::size_t filled = 0;
  std::size_t all = 0;  // number of requested metrics
};

MetricCount metrics_in(const Snapshot& snapshot) {
  MetricCount count;
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns) {
      if (column.def().family == "identity") continue;
      ++count.all;
      count.filled += !column.provenance.plugin.empty();
    }
  return count;
}

std::string metrics_in_words(const MetricCount& metrics) {
  if (metrics.filled == metrics.all) return count(metrics.all, "metric");
  return std::to_string(metrics.all - metrics.filled) + " of " + count(metrics.all, "metric") +
         " are not available here (ctprof doctor)";
}

// Some sources take longer, for example those of heaps, so the skew of the threads is printed
// separately.
std::string skew_in_words(const Meta& meta) {
  if (!meta.skew_ns) return "";
  const std::string all = milliseconds(*meta.skew_ns), threads = milliseconds(*meta.thread_skew_ns);
  return ", skew " + all + (threads == all ? "" : " (threads " + threads + ")");
}

std::string times_in_words(const Outcome& outcome) {
  const std::uint64_t sync_ns = outcome.written.sync_ns;
  return milliseconds(outcome.collect_ns + outcome.write_ns) + " (" +
         milliseconds(outcome.collect_ns) + " reading, " +
         milliseconds(outcome.write_ns - sync_ns) + " writing" +
         (sync_ns > 0 ? ", " + milliseconds(sync_ns) + " syncing" : "") + ")" +
         skew_in_words(outcome.snapshot.meta);
}

std::string line(const Outcome& outcome) {
  const Snapshot& snapshot = outcome.snapshot;
  return count(snapshot.threads().rows, "thread") + " of " +
         count(snapshot.table(Entity::Process).rows, "process", "processes") + ", " +
         metrics_in_words(metrics_in(snapshot)) + without_costly(snapshot.meta) + "; " +
         times_in_words(outcome) + "; " + printable(outcome.file) + ", " +
         size_in_words(outcome.written.file_bytes) + "\n";
}

std::string json_of(const Outcome& outcome) {
  JsonWriter out(Escape::Unshowable);
  out.put('{');
  out.member("schema", 2);
  out.member("threads", outcome.snapshot.threads().rows);
  out.member("threads_absent", outcome.snapshot.meta.rows_absent);
  out.member("processes", outcome.snapshot.table(Entity::Process).rows);
  out.member("metrics", metrics_in(outcome.snapshot).filled);
  out.member("values", outcome.cells.values);
  out.key("gaps");
  out.put('{');
  for (std::size_t gap = 1; gap < outcome.cells.gaps.size(); ++gap)
    if (outcome.cells.gaps[gap] > 0) out.member(kGapNames[gap], outcome.cells.gaps[gap]);
  out.close('}');
  out.put(',');
  out.key("left_out");
  out.put('[');
  for (const std::string& metric : outcome.snapshot.meta.left_out) {
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
std::string file_of(const std::string& plugin, const Registry& registry) {
  const auto& plugins = registry.plugins();
  const auto it = std::find_if(plugins.begin(), plugins.end(),
                               [&](const Plugin& other) { return other.name == plugin; });
  return it == plugins.end() ? plugin : it->path;
}

void note_slow(const Options& options, const SlowCall& slow) {
  const std::string where = slow.owner.source.empty() ? "" : slow.owner.source + " ";
  note(options, slow.owner.file + ": " + where + "has been in " + slow.function + " for " +
                    std::to_string(slow.lasted.count()) + " s");
}

// Captures, and reports plugins that do not return for a long time.
Result<Snapshot> watched_capture(Registry& registry, const Options& options, Ahead ahead,
                                 std::vector<Refusal>& refused) {
  std::optional<CallWatch> watch;
  const Busy busy(options, "reading this host");
  if (!options.quiet) watch.emplace([&](const SlowCall& slow) { note_slow(options, slow); });
  CaptureOptions wanted{options.rootfs, options.pids, options.metrics, options.jobs,
                        options.hostname};
  wanted.cgroup = options.cgroup;
  wanted.all_cgroups = options.layout == FileLayout::Columns;  // the reference layout has fewer
                                                               // cgroups
  wanted.record = options.record;
  wanted.record.names.stop = interrupted_flag();
  wanted.level = options.level.value_or(Level::Full);
  auto snapshot = capture(registry, wanted, &refused, std::move(ahead));
  if (watch) watch->end();
  return snapshot;
}

// Notes sources that failed, metrics that another plugin took over, and the notes of the sources.
void note_sources(const Snapshot& snapshot, const Registry& registry, const Options& options) {
  for (const SourceCost& cost : snapshot.meta.sources)
    if (!cost.failed.empty())
      note(options, file_of(cost.plugin, registry) + ": source '" + cost.source +
                        "' failed: " + cost.failed);
  for (const Takeover& takeover : snapshot.meta.takeovers)
    note(options, file_of(takeover.plugin, registry) + ": " + takeover_in_words(takeover));
  for (const std::string& sentence : notes_for_user(snapshot, options)) note(options, sentence);
  if (!options.verbose) return;
  for (const std::string& sentence : unread_processes(snapshot)) note(options, sentence);
  if (!snapshot.meta.left_out.empty()) note(options, left_out_in_words(snapshot.meta.left_out));
}

// Writes the file with the user's own privileges. Drops the capabilities first, since nothing more
// is read from the kernel.
Result<Outcome> write(const Snapshot& snapshot, const Registry& registry, const Target& target,
                      const Options& options) {
  if (auto dropped = drop_privileges(); !dropped) return dropped.error();
  const std::uint64_t start = monotonic_ns();
  const Busy busy(options, "writing " + target.name);
  set_interrupt_loss(half_written(target));
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
int report(const Outcome& outcome, bool to_stderr, const Options& options) {
  const std::string text = options.format == Format::Json ? json_of(outcome) : line(outcome);
  if (!to_stderr) return print(text);
  say(text);
  return kFine;
}

// Never frees the object: at process exit the kernel reclaims all memory at once, which is faster.
template <class T>
T& never_freed(T object) {
  static T* const kept = new T(std::move(object));
  return *kept;
}

}  // namespace

int run_capture(const Options& options) {
  const auto target = open_target(options);
  if (!target) return fail(target.error());
  if (auto enough = check_descriptors(kDescriptors); !enough) return fail(enough.error());
  if (options.record.once)
    if (auto taken = take_interrupts(); !taken) return fail(taken.error());
  Ahead ahead(options.rootfs);
  auto& registry = never_freed(load_metrics(options, Load::Capture, &ahead));
  // Runs while plugins are still being opened ahead.
  if (auto may = check_replaced(*target, options); !may) return fail(may.error());
  if (!registry) return fail(registry.error());
  std::vector<Refusal> refused;
  set_interrupt_loss(unwritten(*target));
  const auto& snapshot =
      never_freed(watched_capture(*registry, options, std::move(ahead), refused));
  if (!snapshot) return fail(snapshot.error());
  note_unused(options, refused);
  note_sources(*snapshot, *registry, options);
  Shortfall shortfall(options);
  shortfall.add_refused(*registry);
  shortfall.add(refused);
  shortfall.add(*snapshot);
  const auto outcome = write(*snapshot, *registry, *target, options);
  if (!outcome) return fail(outcome.error());
  return shortfall.tell(options.quiet ? kFine : report(*outcome, target->is_stdout, options));
}

}  // namespace ctprof::cli

// The child process of `ctprof plugin check`. It loads the plugin together with ctprof's own,
// probes it, and captures its metrics several times. Each line on standard output is a fault, a
// note or a cost, prefixed by its kind (check.hpp).

#include <fcntl.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/text.hpp"
#include "core/capture/capture.hpp"
#include "core/capture/roots.hpp"
#include "core/registry/loader.hpp"
#include "core/registry/plugin_directory.hpp"
#include "core/registry/probed_host.hpp"
#include "tools/ctprof/plugin/check.hpp"
#include "tools/ctprof/plugin/findings.hpp"
#include "tools/ctprof/plugin/plugin_options.hpp"
#include "tools/ctprof/plugin/process_use.hpp"
#include "tools/ctprof/plugin/value_checks.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

namespace fs = std::filesystem;

// Number of captures.
constexpr int kRounds = 6;

// Returns the time to read one small file in /proc.
std::uint64_t file_read_ns() {
  constexpr int kReads = 200;
  sdk::TextFile file;
  const std::uint64_t start = monotonic_ns();
  for (int i = 0; i < kReads; ++i) file.read(AT_FDCWD, "/proc/self/stat");
  return std::max<std::uint64_t>((monotonic_ns() - start) / kReads, 1);
}

std::size_t rows_of_source(const Snapshot& snapshot, const Plugin& plugin,
                           const std::string& name) {
  const auto source = std::ranges::find(plugin.sources, name, &SourceTable::name);
  const Entity entity = source == plugin.sources.end() ? Entity::Thread : source->entity;
  return std::max<std::size_t>(snapshot.table(entity).rows, 1);
}

void report_sources(const Snapshot& snapshot, const Plugin& plugin, Findings& findings) {
  for (const SourceCost& source : snapshot.meta.sources) {
    if (source.plugin != plugin.name) continue;
    if (!source.failed.empty()) findings.fault("source '" + source.source + "': " + source.failed);
  }
}

// Counts the sources that waited for most of a long time. `cpu_ns` is the CPU time of all threads
// during the capture.
void count_blocked(const Snapshot& snapshot, const Plugin& plugin, std::uint64_t cpu_ns,
                   std::map<std::string, int>& blocked_rounds) {
  constexpr std::uint64_t kLongWaitNs = kNsPerSecond, kMinRatio = 10;
  for (const SourceCost& source : snapshot.meta.sources)
    if (source.plugin == plugin.name && source.busy_ns > kLongWaitNs &&
        source.busy_ns / kMinRatio > cpu_ns)
      ++blocked_rounds[source.source];
}

std::uint64_t process_cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(time.tv_nsec);
}

void report_costs(const Snapshot& snapshot, const Plugin& plugin, Findings& findings) {
  const std::uint64_t file_ns = file_read_ns();
  for (const SourceCost& source : snapshot.meta.sources) {
    if (source.plugin != plugin.name) continue;
    const std::size_t rows = rows_of_source(snapshot, plugin, source.source);
    const std::uint64_t tenths = source.busy_ns * 10 / rows / file_ns;
    findings.add(kCostLine, "source '" + source.source + "' takes as long per row as reading " +
                                std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
                                " small files of /proc (" + format_count(rows, "row", "rows") +
                                ")");
  }
}

// Notes metrics for which the plugin replaces another one, and sources that a capture does not run.
void note_roles(const ProbedHost& probed, const Plugin& plugin, Findings& findings) {
  for (const ProbedMetric& field : probed.metrics())
    if (const ProbedOffer* chosen = field.find_selected_offer();
        chosen && chosen->plugin == &plugin)
      for (const ProbedOffer& offer : field.offers)
        if (offer.plugin != &plugin && offer.refusal == Gap::None)
          findings.add(kNoteLine, "it fills '" + field.def->name + "' instead of '" +
                                      offer.plugin->name + "', because its rank is higher");
  for (const ProbedRecorder& recorder : probed.recorders())
    if (recorder.plugin == &plugin)
      findings.add(kNoteLine, "source '" + recorder.source->name +
                                  "' works only while a window is open: it is probed, not run");
}

bool concerns_plugin(const Refusal& refusal, const std::string& path, const Plugin* plugin) {
  return refusal.subject == path ||
         (plugin && (refusal.subject.starts_with(plugin->name + ":") ||
                     refusal.subject.starts_with(plugin->path) || refusal.subject == plugin->name));
}

// Returns the metrics that a capture reads from the plugin, and notes why it does not use others.
std::vector<std::string> metrics_to_capture(const ProbedHost& probed, const Plugin& plugin,
                                            Findings& findings) {
  std::vector<std::string> metrics;
  for (const ProbedMetric& field : probed.metrics())
    for (const ProbedOffer& offer : field.offers) {
      if (offer.plugin != &plugin) continue;
      if (field.find_selected_offer() == &offer)
        metrics.push_back(field.def->name);
      else if (offer.refusal == Gap::SourceFailed)
        findings.fault("probe fails: " + offer.reason);
      else if (offer.refusal != Gap::None)
        findings.add(kNoteLine, "'" + field.def->name + "' is unavailable on this host (" +
                                    std::string(name(offer.refusal)) + "): " + offer.reason);
      else
        findings.add(kNoteLine, "the offer of '" + field.def->name + "' is not used: '" +
                                    field.find_selected_offer()->plugin->name +
                                    "' has a higher rank");
    }
  return metrics;
}

void check_captures(const Registry& registry, const Plugin& plugin,
                    const CaptureOptions& capture_options, const std::string& path,
                    Findings& findings) {
  std::vector<ResourceUse> resource_uses;
  std::map<std::string, int> blocked_rounds;  // by source
  std::optional<Snapshot> first;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Refusal> refused;
    const std::uint64_t cpu_ns_before = process_cpu_ns();
    auto snapshot = capture(registry, capture_options, &refused);
    if (!snapshot) return findings.fault("a capture fails: " + snapshot.error().text);
    for (const Refusal& refusal : refused)
      if (concerns_plugin(refusal, path, &plugin)) findings.fault(refusal.reason);
    report_sources(*snapshot, plugin, findings);
    count_blocked(*snapshot, plugin, process_cpu_ns() - cpu_ns_before, blocked_rounds);
    for (const std::string& sentence : snapshot->meta.notes) findings.add(kNoteLine, sentence);
    if (first) check_tables(*first, *snapshot, plugin, findings);
    if (round == kRounds - 1) report_costs(*snapshot, plugin, findings);
    if (!first) first = std::move(*snapshot);
    snapshot = Error{""};
    resource_uses.emplace_back();
  }
  report_leaks(resource_uses, findings);
  for (const auto& [source, rounds] : blocked_rounds)
    if (rounds == kRounds)
      findings.fault("source '" + source +
                     "' blocks: in each capture it waits for more than a second, nearly without "
                     "using a CPU");
}

const Plugin* find_plugin(const Registry& registry, const std::string& path) {
  const auto& plugins = registry.plugins();
  const auto found = std::ranges::find(plugins, path, &Plugin::path);
  return found == plugins.end() ? nullptr : &*found;
}

void run_checks(const Registry& registry, const Plugin& plugin, const PluginCommandOptions& options,
                Findings& findings) {
  for (const std::string& sentence : plugin.unsupported_parts) findings.add(kNoteLine, sentence);
  const auto roots = open_roots(options.rootfs);
  if (!roots) return findings.fault(roots.error().text);
  CaptureOptions capture_options;
  capture_options.rootfs = options.rootfs;
  capture_options.jobs = 2;
  capture_options.records_hostname = false;
  {
    const ProbedHost probed(registry, roots->host(), RecorderSelection::All);
    note_roles(probed, plugin, findings);
    for (const Refusal& refusal : probed.failures())
      if (concerns_plugin(refusal, plugin.path, &plugin)) findings.fault(refusal.reason);
    capture_options.metrics = metrics_to_capture(probed, plugin, findings);
  }
  if (capture_options.metrics->empty())
    return findings.add(kNoteLine, "a capture of this host reads no metric of this plugin");
  check_captures(registry, plugin, capture_options, plugin.path, findings);
}

}  // namespace

int run_plugin_check_child(const PluginCommandOptions& options) {
  const std::string &directory = options.arguments[1], &path = options.arguments[2];
  Findings findings;
  LoadOptions load;
  load.shipped_directory = own_plugin_directory();
  if (!directory.empty()) load.directories.push_back(directory);
  auto loaded = load_plugins(load);
  if (!loaded) return fail(loaded.error());
  const Registry registry(std::move(*loaded));
  const Plugin* plugin = find_plugin(registry, path);
  for (const Refusal& refusal : registry.refusals())
    if (concerns_plugin(refusal, path, plugin)) findings.fault(refusal.reason);
  if (plugin) {
    const ProcessState before;
    run_checks(registry, *plugin, options, findings);
    report_changes(before, path, findings);
  }
  findings.add(kEndLine, "");
  return kSuccess;
}

}  // namespace ctprof::cli

// The child process of `ctprof plugin check`. It loads the plugin together with ctprof's own,
// probes it, and captures its metrics several times. Each line on standard output is a fault, a
// note or a cost, prefixed by its kind (check.hpp).

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/text.hpp"
#include "core/capture/capture.hpp"
#include "core/capture/roots.hpp"
#include "core/registry/identity.hpp"
#include "core/registry/loader.hpp"
#include "core/registry/plugin_directory.hpp"
#include "core/registry/probed_host.hpp"
#include "tools/ctprof/plugin/check.hpp"
#include "tools/ctprof/plugin/plugin_options.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

namespace fs = std::filesystem;

// Number of captures. After the first two, a correct plugin allocates no additional resources.
constexpr int kRounds = 6, kWarmupRounds = 2;
// Growth of allocations per capture, in bytes, below which it is noise of ctprof itself.
constexpr std::size_t kNoiseBytes = 16 * 1024;

// 100 percent in hundredths, the unit of a GaugeRatio100.
constexpr std::uint64_t kHundredPercent = 10'000;

class Findings {
 public:
  void add(std::string_view kind, const std::string& sentence) {
    if (printed_.insert(std::string(kind) + sentence).second)
      print(std::string(kind) + sentence + "\n");
  }
  void fault(const std::string& sentence) { add(kFaultLine, sentence); }

 private:
  std::set<std::string> printed_;
};

std::size_t count_descriptors() {
  const fs::directory_iterator open("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(open), end(open)));
}

bool has_children() {
  for (const fs::directory_entry& thread : fs::directory_iterator("/proc/self/task")) {
    std::string child;
    if (std::ifstream(thread.path() / "children") >> child) return true;
  }
  return false;
}

// Resources that the process holds after a capture.
struct ResourceUse {
  std::size_t descriptors = count_descriptors();
  std::size_t bytes = ::mallinfo2().uordblks;
};

void report_leaks(const std::vector<ResourceUse>& resource_uses, Findings& findings) {
  const auto grows = [&](auto ResourceUse::*member, std::size_t min_growth) {
    for (std::size_t i = kWarmupRounds; i < resource_uses.size(); ++i)
      if (resource_uses[i].*member < resource_uses[i - 1].*member + min_growth) return false;
    return true;
  };
  const std::size_t rounds = resource_uses.size() - kWarmupRounds;
  const ResourceUse &first = resource_uses[kWarmupRounds - 1], &last = resource_uses.back();
  if (grows(&ResourceUse::descriptors, 1))
    findings.fault("it leaks " +
                   format_count((last.descriptors - first.descriptors) / rounds, "descriptor") +
                   " per capture");
  if (grows(&ResourceUse::bytes, kNoiseBytes))
    findings.fault("it keeps " + std::to_string((last.bytes - first.bytes) / rounds) +
                   " more bytes of memory after each capture");
  if (has_children()) findings.fault("it leaves child processes behind");
}

bool is_filled_by(const Column& column, const Plugin& plugin) {
  return column.provenance.plugin == plugin.name;
}

// Returns why a value is invalid for its newtype, or "".
std::string explain_invalid_value(const Column& column, std::uint32_t row) {
  const MetricDef& def = column.def();
  if (def.storage == Storage::F64 && !std::isfinite(column.f64()[row])) return "is not a number";
  if (def.storage == Storage::F64 && column.f64()[row] < 0 && def.newtype != "GaugeF64")
    return "is below zero";
  if (def.newtype == "GaugeRatio100" && def.storage == Storage::U64 &&
      column.u64()[row] > kHundredPercent)
    return "is above 100 percent";
  const bool is_amount = def.storage == Storage::U64 && def.family != "limit" &&
                         def.family != "identity" && !def.newtype.starts_with("Ordinal");
  if (is_amount && column.u64()[row] > INT64_MAX) return "is a negative number, stored as unsigned";
  return "";
}

void check_values(const Column& column, Findings& findings) {
  for (std::uint32_t row = 0; row < column.rows(); ++row)
    if (const std::string why = column.has_value(row) ? explain_invalid_value(column, row) : "";
        !why.empty())
      return findings.fault("a value of '" + column.def().name + "' " + why);
}

// Returns a key for each row that is the same in each capture: the id of the thread or process, the
// identity of a row of an entity of a plugin, otherwise the row number.
std::vector<std::string> row_keys(const Snapshot& snapshot, Entity entity) {
  const Table& table = snapshot.table(entity);
  std::vector<std::string> keys;
  const Column* id = table.find_u64(entity == Entity::Thread ? kTid : kProcessTgid);
  const auto columns =
      is_of_plugin(entity) ? identity_columns(table) : std::vector<const Column*>();
  for (std::size_t row = 0; row < table.rows; ++row)
    keys.push_back(columns.empty() ? std::to_string(id ? id->u64()[row] : row)
                                   : join_texts(identity_of_row(columns, row, *snapshot.pools)));
  return keys;
}

void check_counter(const Snapshot& before, const Snapshot& after, const Column& later,
                   Findings& findings) {
  const MetricDef& def = later.def();
  if (def.family != "cumulative" || def.storage != Storage::U64) return;
  const Column* earlier = before.table(def.entity).find(def.name);
  if (!earlier) return;
  std::unordered_map<std::string, std::uint32_t> row_of;
  for (const std::string& key : row_keys(before, def.entity))
    row_of.emplace(key, static_cast<std::uint32_t>(row_of.size()));
  const auto keys = row_keys(after, def.entity);
  for (std::uint32_t now = 0; now < keys.size(); ++now) {
    const auto known_row = row_of.find(keys[now]);
    if (known_row == row_of.end()) continue;
    const std::uint32_t row = known_row->second;
    if (later.has_value(now) && earlier->has_value(row) && later.u64()[now] < earlier->u64()[row])
      return findings.fault("counter '" + def.name + "' went backwards");
  }
}

void check_tables(const Snapshot& before, const Snapshot& after, const Plugin& plugin,
                  Findings& findings) {
  for (const Table& table : after.tables)
    for (const Column& column : table.columns) {
      if (!is_filled_by(column, plugin)) continue;
      check_values(column, findings);
      check_counter(before, after, column, findings);
    }
}

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
  std::optional<Snapshot> first;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Refusal> refused;
    auto snapshot = capture(registry, capture_options, &refused);
    if (!snapshot) return findings.fault("a capture fails: " + snapshot.error().text);
    for (const Refusal& refusal : refused)
      if (concerns_plugin(refusal, path, &plugin)) findings.fault(refusal.reason);
    report_sources(*snapshot, plugin, findings);
    for (const std::string& sentence : snapshot->meta.notes) findings.add(kNoteLine, sentence);
    if (first) check_tables(*first, *snapshot, plugin, findings);
    if (round == kRounds - 1) report_costs(*snapshot, plugin, findings);
    if (!first) first = std::move(*snapshot);
    snapshot = Error{""};
    resource_uses.emplace_back();
  }
  report_leaks(resource_uses, findings);
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
  if (plugin) run_checks(registry, *plugin, options, findings);
  findings.add(kEndLine, "");
  return kSuccess;
}

}  // namespace ctprof::cli

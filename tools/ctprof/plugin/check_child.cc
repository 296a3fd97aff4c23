// The child process of `ctprof plugin check`. It loads the plugin beside ctprof's own, probes it,
// and captures its metrics several times. Each line on standard output is a fault, a note or a
// cost, prefixed by its kind (check.hpp).

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/clock.hpp"
#include "core/capture/capture.hpp"
#include "core/capture/roots.hpp"
#include "core/registry/identity.hpp"
#include "core/registry/loader.hpp"
#include "core/registry/plugin_directory.hpp"
#include "core/registry/probed.hpp"
#include "tools/ctprof/options/options.hpp"
#include "tools/ctprof/plugin/check.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

namespace fs = std::filesystem;

// Number of captures. After the first two, a correct plugin allocates no additional resources.
constexpr int kRounds = 6, kSettled = 2;
// Growth of allocations per capture, in bytes, below which it is noise of ctprof itself.
constexpr std::size_t kNoise = 16 * 1024;

// 100 percent in hundredths, the unit of a GaugeRatio100.
constexpr std::uint64_t kWhole = 10'000;

class Findings {
 public:
  void add(std::string_view kind, const std::string& sentence) {
    if (told_.insert(std::string(kind) + sentence).second)
      print(std::string(kind) + sentence + "\n");
  }
  void fault(const std::string& sentence) { add(kFaultLine, sentence); }

 private:
  std::set<std::string> told_;
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
struct Kept {
  std::size_t descriptors = count_descriptors();
  std::size_t bytes = ::mallinfo2().uordblks;
};

void report_kept(const std::vector<Kept>& kept, Findings& findings) {
  const auto grows = [&](auto Kept::*what, std::size_t least) {
    for (std::size_t i = kSettled; i < kept.size(); ++i)
      if (kept[i].*what < kept[i - 1].*what + least) return false;
    return true;
  };
  const std::size_t rounds = kept.size() - kSettled;
  const Kept &first = kept[kSettled - 1], &last = kept.back();
  if (grows(&Kept::descriptors, 1))
    findings.fault("it leaks " +
                   count((last.descriptors - first.descriptors) / rounds, "descriptor") +
                   " per capture");
  if (grows(&Kept::bytes, kNoise))
    findings.fault("it keeps " + std::to_string((last.bytes - first.bytes) / rounds) +
                   " more bytes of memory after each capture");
  if (has_children()) findings.fault("it leaves child processes behind");
}

bool is_filled_by(const Column& column, const Plugin& plugin) {
  return column.provenance.plugin == plugin.name;
}

// Returns why a value is invalid for its newtype, or "".
std::string objection(const Column& column, std::uint32_t row) {
  const MetricDef& def = column.def();
  if (def.storage == Storage::F64 && !std::isfinite(column.f64()[row])) return "is not a number";
  if (def.storage == Storage::F64 && column.f64()[row] < 0 && def.newtype != "GaugeF64")
    return "is below zero";
  if (def.newtype == "GaugeRatio100" && def.storage == Storage::U64 && column.u64()[row] > kWhole)
    return "is above 100 percent";
  const bool is_amount = def.storage == Storage::U64 && def.family != "limit" &&
                         def.family != "identity" && !def.newtype.starts_with("Ordinal");
  if (is_amount && column.u64()[row] > INT64_MAX) return "is a negative number, stored as unsigned";
  return "";
}

void check_values(const Column& column, Findings& findings) {
  for (std::uint32_t row = 0; row < column.rows(); ++row)
    if (const std::string why = column.has_value(row) ? objection(column, row) : ""; !why.empty())
      return findings.fault("a value of '" + column.def().name + "' " + why);
}

// Returns a key for each row that is the same in each capture: the id of the thread or process,
// otherwise the row number.
std::vector<std::uint64_t> keys_of(const Snapshot& snapshot, Entity entity) {
  const Table& table = snapshot.table(entity);
  const Column* id = table.find_u64(entity == Entity::Thread ? kTid : kProcessTgid);
  std::vector<std::uint64_t> keys(table.rows);
  if (id)
    keys.assign(id->u64().begin(), id->u64().end());
  else
    std::iota(keys.begin(), keys.end(), std::uint64_t{0});
  return keys;
}

void check_counter(const Snapshot& before, const Snapshot& after, const Column& later,
                   Findings& findings) {
  const MetricDef& def = later.def();
  if (def.family != "cumulative" || def.storage != Storage::U64) return;
  const Column* earlier = before.table(def.entity).find(def.name);
  if (!earlier) return;
  std::unordered_map<std::uint64_t, std::uint32_t> row_of;
  for (const std::uint64_t key : keys_of(before, def.entity))
    row_of.emplace(key, static_cast<std::uint32_t>(row_of.size()));
  const auto keys = keys_of(after, def.entity);
  for (std::uint32_t now = 0; now < keys.size(); ++now) {
    const auto known = row_of.find(keys[now]);
    if (known == row_of.end()) continue;
    const std::uint32_t row = known->second;
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

std::size_t rows_of_stage(const Snapshot& snapshot, const std::string& stage) {
  Entity entity = Entity::Thread;
  parse(stage, entity);
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
    const std::size_t rows = rows_of_stage(snapshot, source.stage);
    const std::uint64_t tenths = source.busy_ns * 10 / rows / file_ns;
    findings.add(kCostLine, "source '" + source.source + "' takes as long per row as reading " +
                                std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
                                " small files of /proc (" + count(rows, "row", "rows") + ")");
  }
}

// Notes metrics for which the plugin replaces another one, and sources that a capture does not run.
void report_roles(const Probed& probed, const Plugin& plugin, Findings& findings) {
  for (const ProbedField& field : probed.fields())
    if (const ProbedOffer* chosen = field.chosen(); chosen && chosen->plugin == &plugin)
      for (const ProbedOffer& offer : field.offers)
        if (offer.plugin != &plugin && offer.verdict == Gap::None)
          findings.add(kNoteLine, "it takes '" + field.def->name + "' from '" + offer.plugin->name +
                                      "', because its rank is higher");
  for (const ProbedRecorder& recorder : probed.recorders())
    if (recorder.plugin == &plugin)
      findings.add(kNoteLine, "source '" + recorder.source->name +
                                  "' works only while a window is open: it is probed, not run");
}

bool is_about(const Refusal& refusal, const std::string& path, const Plugin* plugin) {
  return refusal.what == path ||
         (plugin && (refusal.what.starts_with(plugin->name + ":") ||
                     refusal.what.starts_with(plugin->path) || refusal.what == plugin->name));
}

// Returns the metrics that a capture reads from the plugin, and notes why it does not use others.
std::vector<std::string> metrics_to_capture(const Probed& probed, const Plugin& plugin,
                                            Findings& findings) {
  std::vector<std::string> metrics;
  for (const ProbedField& field : probed.fields())
    for (const ProbedOffer& offer : field.offers) {
      if (offer.plugin != &plugin) continue;
      if (field.chosen() == &offer)
        metrics.push_back(field.def->name);
      else if (offer.verdict == Gap::SourceFailed)
        findings.fault("probe fails: " + offer.reason);
      else if (offer.verdict != Gap::None)
        findings.add(kNoteLine, "'" + field.def->name + "' is " + std::string(name(offer.verdict)) +
                                    " on this host: " + offer.reason);
      else
        findings.add(kNoteLine, "the offer of '" + field.def->name + "' is not used: '" +
                                    field.chosen()->plugin->name + "' has a higher rank");
    }
  return metrics;
}

void check_captures(const Registry& registry, const Plugin& plugin,
                    const CaptureOptions& capture_options, const std::string& path,
                    Findings& findings) {
  std::vector<Kept> kept;
  std::optional<Snapshot> first;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Refusal> refused;
    auto snapshot = capture(registry, capture_options, &refused);
    if (!snapshot) return findings.fault("a capture fails: " + snapshot.error().text);
    for (const Refusal& refusal : refused)
      if (is_about(refusal, path, &plugin)) findings.fault(refusal.reason);
    report_sources(*snapshot, plugin, findings);
    for (const std::string& sentence : snapshot->meta.notes) findings.add(kNoteLine, sentence);
    if (first) check_tables(*first, *snapshot, plugin, findings);
    if (round == kRounds - 1) report_costs(*snapshot, plugin, findings);
    if (!first) first = std::move(*snapshot);
    snapshot = Error{""};
    kept.emplace_back();
  }
  report_kept(kept, findings);
}

const Plugin* find_plugin(const Registry& registry, const std::string& path) {
  const auto& plugins = registry.plugins();
  const auto found = std::ranges::find(plugins, path, &Plugin::path);
  return found == plugins.end() ? nullptr : &*found;
}

void check(const Registry& registry, const Plugin& plugin, const Options& options,
           Findings& findings) {
  for (const std::string& sentence : plugin.unserved) findings.add(kNoteLine, sentence);
  const auto roots = open_roots(options.rootfs);
  if (!roots) return findings.fault(roots.error().text);
  CaptureOptions wanted;
  wanted.rootfs = options.rootfs;
  wanted.jobs = 2;
  wanted.hostname = false;
  {
    const Probed probed(registry, roots->host(), Recorders::All);
    report_roles(probed, plugin, findings);
    for (const Refusal& refusal : probed.thrown())
      if (is_about(refusal, plugin.path, &plugin)) findings.fault(refusal.reason);
    wanted.metrics = metrics_to_capture(probed, plugin, findings);
  }
  if (wanted.metrics->empty())
    return findings.add(kNoteLine, "a capture of this host reads no metric of this plugin");
  check_captures(registry, plugin, wanted, plugin.path, findings);
}

}  // namespace

int run_plugin_check_child(const Options& options) {
  const std::string &directory = options.arguments[1], &path = options.arguments[2];
  Findings findings;
  LoadOptions load;
  load.own_directory = own_plugin_directory();
  if (!directory.empty()) load.directories.push_back(directory);
  auto loaded = load_plugins(load);
  if (!loaded) return fail(loaded.error());
  const Registry registry(std::move(*loaded));
  const Plugin* plugin = find_plugin(registry, path);
  for (const Refusal& refusal : registry.refused())
    if (is_about(refusal, path, plugin)) findings.fault(refusal.reason);
  if (plugin) check(registry, *plugin, options, findings);
  findings.add(kEndLine, "");
  return kFine;
}

}  // namespace ctprof::cli

#include "core/capture/meta.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/number.hpp"
#include "core/base/version.hpp"
#include "core/registry/identity.hpp"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

std::string read(int root, const char* path) {
  sdk::TextFile file;
  const auto text = file.read(root, path);
  return std::string(text ? sdk::trimmed(text.value) : std::string_view{});
}

// Returns the effective capabilities of this process. Always reads the host's own /proc.
std::string read_capability_mask() {
  sdk::TextFile file;
  const auto status = file.read(AT_FDCWD, "/proc/self/status");
  const auto value =
      status ? sdk::value_of(status.value, "CapEff") : sdk::Reading<std::string_view>(status.gap);
  return std::string(value ? value.value : std::string_view{});
}

bool is_identity(const MetricDef& metric) {
  const auto& all = identity_metrics();
  return std::any_of(all.begin(), all.end(),
                     [&](const MetricDef& def) { return def.name == metric.name; });
}

bool could_fill_metric(const ProbedHost& probed, const MetricDef& metric) {
  const ProbedMetric* field = probed.find(metric.name);
  if (metric.is_hidden || !field) return false;
  return is_identity(metric) ||
         std::any_of(field->offers.begin(), field->offers.end(), [](const ProbedOffer& offer) {
           return offer.plugin->is_shipped && offer.refusal == Gap::None;
         });
}

std::vector<std::string> metrics_filled_by(const PlannedSource& planned, const ProbedHost& probed) {
  std::vector<std::string> metrics;
  for (std::size_t i = 0; i < planned.selected_offers.size(); ++i) {
    const MetricDef& metric = planned.source->offers[i].metric;
    if (planned.selected_offers[i] && could_fill_metric(probed, metric))
      metrics.push_back(metric.name);
  }
  return metrics;
}

}  // namespace

Timestamp now() { return {realtime_ns(), boottime_ns()}; }

namespace {

// Tolerated change of the difference between two clocks, in ns. All clocks are slewed equally, so
// only a step changes their difference; but they are read one after the other.
constexpr std::int64_t kClockTolerance = 1'000'000;

// Reads the clocks several times and keeps the reading with the shortest distance, because an
// interrupt between two of them separates them.
void read_clocks(HostState& state) {
  constexpr int kAttempts = 5;
  std::uint64_t shortest = UINT64_MAX;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::uint64_t before = monotonic_ns();
    const Timestamp moment = now();
    const std::uint64_t after = monotonic_ns();
    if (after - before >= shortest) continue;
    shortest = after - before;
    state.now = moment;
    state.monotonic_ns = before;
  }
}

void read_cpus(int sys, HostState& state) {
  const int cpus = ::openat(sys, "devices/system/cpu", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(cpus < 0 ? nullptr : ::fdopendir(cpus),
                                                      &::closedir);
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    const auto number = sdk::number<unsigned>(name.substr(std::min<std::size_t>(name.size(), 3)));
    struct stat status {};
    if (name.starts_with("cpu") && number &&
        ::fstatat(cpus, (std::string(name) + "/topology").c_str(), &status, 0) == 0)
      state.cpus[number.value] = status.st_ino;
  }
}

std::string seconds(std::int64_t ns) {
  return format_fixed(static_cast<double>(std::abs(ns)) / 1e9, 3) + " s";
}

// "CPU 3", "CPUs 1, 2 and 3"
std::string list_cpus(const std::vector<unsigned>& cpus) {
  constexpr std::size_t kMaxCpus = 16;
  std::string text = cpus.size() == 1 ? "CPU " : "CPUs ";
  const std::size_t shown_count = std::min(cpus.size(), kMaxCpus);
  for (std::size_t i = 0; i < shown_count; ++i)
    text += (i == 0 ? "" : i + 1 == cpus.size() ? " and " : ", ") + std::to_string(cpus[i]);
  return shown_count == cpus.size()
             ? text
             : text + " and " + std::to_string(cpus.size() - shown_count) + " others";
}

void describe_cpu_changes(const HostState& before, const HostState& after,
                          std::vector<std::string>& messages) {
  std::vector<unsigned> offline, online, restarted;
  for (const auto& [cpu, inode] : before.cpus) {
    const auto now = after.cpus.find(cpu);
    if (now == after.cpus.end())
      offline.push_back(cpu);
    else if (now->second != inode)
      restarted.push_back(cpu);
  }
  for (const auto& [cpu, inode] : after.cpus)
    if (!before.cpus.contains(cpu)) online.push_back(cpu);
  if (!offline.empty()) messages.push_back(list_cpus(offline) + " went offline");
  if (!online.empty()) messages.push_back(list_cpus(online) + " came online");
  if (!restarted.empty()) messages.push_back(list_cpus(restarted) + " went offline and came back");
}

std::int64_t difference(std::uint64_t after, std::uint64_t before) {
  return static_cast<std::int64_t>(after - before);
}

}  // namespace

HostState read_host_state(const Roots& roots) {
  HostState state;
  read_clocks(state);
  if (roots.sys_fd) read_cpus(roots.sys_fd.get(), state);
  return state;
}

std::vector<std::string> describe_changes(const HostState& before, const HostState& after) {
  std::vector<std::string> messages;
  const std::int64_t boottime_ns_passed = difference(after.now.boottime_ns, before.now.boottime_ns);
  const std::int64_t step_ns =
      difference(after.now.wall_unix_ns, before.now.wall_unix_ns) - boottime_ns_passed;
  const std::int64_t suspended_ns =
      boottime_ns_passed - difference(after.monotonic_ns, before.monotonic_ns);
  if (std::abs(step_ns) > kClockTolerance)
    messages.push_back("the clock was set " + std::string(step_ns > 0 ? "forward" : "back") +
                       " by " + seconds(step_ns));
  if (suspended_ns > kClockTolerance)
    messages.push_back("the host was suspended for " + seconds(suspended_ns));
  describe_cpu_changes(before, after, messages);
  return messages;
}

Meta begin_meta(const Roots& roots, bool with_hostname) {
  Meta meta;
  meta.tool = kVersion;
  meta.boot_id = read(roots.proc_fd.get(), "sys/kernel/random/boot_id");
  if (with_hostname)
    if (std::string name = read(roots.proc_fd.get(), "sys/kernel/hostname"); !name.empty())
      meta.hostname = std::move(name);
  meta.user_hz = clock_ticks_per_second();
  meta.live = roots.is_live;
  meta.euid = ::geteuid();
  meta.capabilities = read_capability_mask();
  meta.cgroup_mount = roots.cgroup;
  meta.cgroup_root = roots.cgroup_root;
  meta.start = now();
  return meta;
}

std::vector<Takeover> list_takeovers(const ProbedHost& probed, const Plan& plan) {
  std::vector<Takeover> all;
  for (const PlannedSource& planned : plan.sources) {
    const auto metrics = planned.plugin->is_shipped ? std::vector<std::string>{}
                                                    : metrics_filled_by(planned, probed);
    if (metrics.empty()) continue;
    auto entry = std::find_if(all.begin(), all.end(), [&](const Takeover& takeover) {
      return takeover.plugin == planned.plugin->name;
    });
    if (entry == all.end()) entry = all.insert(entry, {planned.plugin->name, {}});
    entry->metrics.insert(entry->metrics.end(), metrics.begin(), metrics.end());
  }
  return all;
}

namespace {

// Builds a JSON object from ordered dotted keys: "a", "b.c", "b.d".
class SummaryObject {
 public:
  explicit SummaryObject(Meta& meta) : meta_(meta) { out_.put('{'); }

  static void put_u64(void* core, const char* key, std::uint64_t value) {
    if (JsonWriter* out = object_of(core).open_key(key)) out->number(value), out->put(',');
  }
  static void put_bool(void* core, const char* key, std::uint32_t value) {
    if (JsonWriter* out = object_of(core).open_key(key)) out->boolean(value != 0), out->put(',');
  }
  static void put_text(void* core, const char* key, const char* data, std::size_t size) {
    JsonWriter* out = object_of(core).open_key(key);
    if (!out) return;
    data ? out->text({data, size}) : out->raw("null");
    out->put(',');
  }
  static void note(void* core, const char* data, std::size_t size) {
    object_of(core).meta_.notes.emplace_back(data, size);
  }

  RawJson finish() {
    enter("");
    out_.close('}');
    return RawJson(out_.view());
  }

 private:
  static SummaryObject& object_of(void* core) { return *static_cast<SummaryObject*>(core); }

  // Opens the inner object that the key names and writes the last part of the key. Returns null if
  // the key has no last part; the value is then not written.
  JsonWriter* open_key(std::string_view key) {
    const auto dot = key.find('.');
    enter(dot == key.npos ? "" : key.substr(0, dot));
    const std::string_view last = dot == key.npos ? key : key.substr(dot + 1);
    if (last.empty()) return nullptr;
    out_.key(last);
    return &out_;
  }

  void enter(std::string_view inner) {
    if (inner == inner_) return;
    if (!inner_.empty()) out_.close('}'), out_.put(',');
    inner_ = inner;
    if (inner_.empty()) return;
    out_.key(inner_);
    out_.put('{');
  }

  Meta& meta_;
  JsonWriter out_;
  std::string inner_;
};

// "a", or "a and 3 other metrics".
std::string list_metrics(const std::vector<std::string_view>& names) {
  const std::string first(names.front());
  if (names.size() == 1) return first;
  return first + " and " + std::to_string(names.size() - 1) +
         (names.size() > 2 ? " other metrics" : " other metric");
}

// Returns whether two sources of the same plugin have the same summary key.
bool have_same_summary(const SourceRun& a, const SourceRun& b) {
  const char* key_a = a.source().table.summary_key;
  const char* key_b = b.source().table.summary_key;
  return &a == &b ||
         (a.plugin() == b.plugin() && key_a && key_b && std::string_view(key_a) == key_b);
}

// Returns the tallies of all sources that share a summary with `run`.
std::vector<std::uint64_t> sum_shared_tallies(const SourceRun& run,
                                              const std::deque<SourceRun>& sources) {
  std::vector<std::uint64_t> sums = run.tallies();
  for (const SourceRun& other : sources) {
    if (&other == &run || !have_same_summary(run, other)) continue;
    const std::size_t common_count = std::min(sums.size(), other.tallies().size());
    for (std::size_t i = 0; i < common_count; ++i) sums[i] += other.tallies()[i];
  }
  return sums;
}

void call_summarise(const SourceRun& run, const std::vector<std::uint64_t>& tallies,
                    Snapshot& snapshot) {
  const ctprof_source& table = run.source().table;
  SummaryObject object(snapshot.meta);
  const ctprof_summary summary{.size = sizeof(ctprof_summary),
                               .tallies_count = static_cast<std::uint32_t>(tallies.size()),
                               .tallies = tallies.data(),
                               .rows_listed = snapshot.meta.rows_listed,
                               .rows_absent = snapshot.meta.rows_absent,
                               .core = &object,
                               .put_u64 = &SummaryObject::put_u64,
                               .put_bool = &SummaryObject::put_bool,
                               .put_text = &SummaryObject::put_text,
                               .note = &SummaryObject::note,
                               .context = run.context()};
  const CallOwner* owner = call_owner(run.plugin()->path, "source '" + run.source().name + "'");
  const std::string exception_text =
      run_contained(owner, "summarise", [&] { table.summarise(&summary); });
  if (!exception_text.empty())
    snapshot.meta.notes.push_back(owner->file + ": " + owner->source + ": " + exception_text);
  if (RawJson text = object.finish(); table.summary_key)
    snapshot.objects[table.summary_key] = std::move(text);
}

// Adds each distinct remark of the sources and of the core once.
void note_remarks(const std::deque<SourceRun>& sources, Meta& meta) {
  std::set<std::string> remarks;
  for (const SourceRun& run : sources) remarks.insert(run.remarks().begin(), run.remarks().end());
  if (const char* shortage = sdk::take_shortage()) remarks.insert(shortage);
  meta.notes.insert(meta.notes.end(), remarks.begin(), remarks.end());
}

}  // namespace

void note_obtainable_columns(Snapshot& snapshot) {
  std::vector<std::pair<std::string_view, std::vector<std::string_view>>> reasons;
  for (const Table& table : snapshot.tables)
    for (const Column& column : table.columns) {
      const Provenance& provenance = column.provenance;
      if (!provenance.plugin.empty() ||
          (provenance.gap != Gap::Denied && provenance.gap != Gap::SwitchedOff))
        continue;
      auto entry = std::find_if(reasons.begin(), reasons.end(), [&](const auto& reason) {
        return reason.first == provenance.reason;
      });
      if (entry == reasons.end()) entry = reasons.insert(entry, {provenance.reason, {}});
      entry->second.push_back(column.def().name);
    }
  for (const auto& [reason, names] : reasons)
    snapshot.meta.notes.push_back("without " + list_metrics(names) + ": " + std::string(reason));
}

void summarise(std::deque<SourceRun>& sources, Snapshot& snapshot) {
  for (SourceRun& run : sources) snapshot.meta.sources.push_back(run.finish());
  note_remarks(sources, snapshot.meta);
  for (const SourceRun& run : sources) {
    const auto first = std::find_if(sources.begin(), sources.end(), [&](const SourceRun& other) {
      return have_same_summary(run, other);
    });
    if (&*first == &run && run.source().table.summarise)
      call_summarise(run, sum_shared_tallies(run, sources), snapshot);
  }
}

}  // namespace ctprof

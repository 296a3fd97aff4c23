// Builds snapshots for the tests of file layouts. Tests choose how realistic and how large they
// are.
//
// Contents:  the vocabulary that ships, a host of idle threads, a cell-by-cell comparison of two
// snapshots.
// See also:  random_host.hpp, for random snapshots with unusual contents.

#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>

#include "core/file/layout/fields.hpp"
#include "core/registry/identity.hpp"
#include "core/registry/metric_def.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/snapshot/snapshot.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::tests {

// Returns the vocabulary of a process that loaded the layout plugin.
inline const Vocabulary& shipped_vocabulary() {
  static const Vocabulary vocabulary = [] {
    Vocabulary made;
    made.metrics.assign(identity_metrics().begin(), identity_metrics().end());
    for (const ctprof_metric& metric : vocabulary::kAllMetrics)
      made.metrics.push_back(define(metric, "test"));
    made.objects = {"probe_summary", "parse_summary", "taskstats_summary", "host", "sched_ext"};
    return made;
  }();
  return vocabulary;
}

struct HostShape {
  std::size_t threads = 1000;
  std::size_t threads_per_process = 10;
  std::size_t names = 100;
  std::size_t cgroups = 20;
  bool is_busy = false;  // counters of all widths, which hardly compress
  std::uint64_t seed = 1;
};

class IdleHost {
 public:
  explicit IdleHost(const HostShape& shape) : shape_(shape), random_(shape.seed) {}

  Snapshot make() {
    make_meta();
    for (const Entity entity : {Entity::Thread, Entity::Process, Entity::Cgroup, Entity::Host})
      make_table(entity);
    return std::move(snapshot_);
  }

 private:
  std::uint64_t random_below(std::uint64_t limit) {
    return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(random_);
  }

  void make_meta() {
    Meta& meta = snapshot_.meta;
    meta.tool = "0.1.0";
    meta.boot_id = "3c1dd7ab-2d4e-4f60-a9b4-6a1c6a3ad1f5";
    meta.hostname = "bench";
    meta.start = {1'790'000'000'000'000'000, 5'000'000'000'000};
    meta.end = {1'790'000'000'150'000'000, 5'000'150'000'000};
    meta.live = true;
    meta.cgroup_mount = "/sys/fs/cgroup";
    meta.rows_listed = shape_.threads;
    snapshot_.objects["host"] =
        R"({"cpu_model":"Model","online_cpus":8,"kernel_release":"6.18.0"})";
    for (std::size_t row = 0; row < shape_.threads; ++row)
      snapshot_.read_at.push_back(1'000'000 + row * 14'137);
  }

  void make_table(Entity entity) {
    Table& table = snapshot_.table(entity);
    table.rows = rows_of(entity);
    for (const MetricDef& def : shipped_vocabulary().metrics) {
      if (def.entity != entity || def.is_mark || def.name == kThreadCount) continue;
      fill(table.add(def, Gap::None));
    }
  }

  std::size_t rows_of(Entity entity) const {
    if (entity == Entity::Thread) return shape_.threads;
    if (entity == Entity::Process)
      return (shape_.threads + shape_.threads_per_process - 1) / shape_.threads_per_process;
    return entity == Entity::Cgroup ? shape_.cgroups : 1;
  }

  void fill(Column& column) {
    column.provenance = {"made", "tests", Gap::None, ""};
    for (std::size_t row = 0; row < column.rows(); ++row) fill_cell(column, row);
  }

  void fill_cell(Column& column, std::size_t row) {
    const bool is_leader = row % shape_.threads_per_process == 0;
    if (column.def().applies_to == "leader" && !is_leader)
      return gap(column, row, Gap::NotApplicable);
    if (column.def().config_gates == "CONFIG_SCHEDSTATS") return gap(column, row, Gap::Unsupported);
    switch (column.def().storage) {
      case Storage::U64: column.u64()[row] = number(column, row); return;
      case Storage::I64:
        column.i64()[row] =
            column.def().name == "priority" ? 20 : static_cast<std::int64_t>(random_below(8));
        return;
      case Storage::F64: column.f64()[row] = 0.5; return;
      case Storage::Bool: column.bools()[row] = 0; return;
      case Storage::String:
        column.ids()[row] = snapshot_.pools->texts.intern(text(column.def().name, row));
        return;
      case Storage::Bitset: column.ids()[row] = snapshot_.pools->words.intern(all_cpus_); return;
      case Storage::Array: column.ids()[row] = snapshot_.pools->words.intern({}); return;
      case Storage::Map: column.ids()[row] = map(row); return;
      case Storage::Stacks: return;  // recorded, never read by a source
    }
  }

  static void gap(Column& column, std::size_t row, Gap why) {
    column.gaps()[row] = static_cast<ctprof_gap>(why);
  }

  std::uint64_t number(const Column& column, std::size_t row) {
    const std::string& name = column.def().name;
    const std::size_t leader = row - row % shape_.threads_per_process;
    if (name == kTid) return 1000 + row;
    if (name == kTgid) return 1000 + leader;
    if (name == kProcessTgid) return 1000 + row * shape_.threads_per_process;
    if (name == kStartTime) return 500'000 + row / 7;
    if (column.def().newtype == "OrdinalU32") return 0;
    if (column.def().newtype == "GaugeRatio100") return random_below(100);
    if (shape_.is_busy) return random_() >> random_below(64);
    if (column.def().newtype == "MonotonicNs" && column.def().config_gates == "CONFIG_SCHED_INFO")
      return 20'000 + random_below(60'000);
    if (name == "minflt" || name == "nr_migrations") return random_below(4);
    return column.def().newtype.starts_with("Peak") ? 7000 : random_below(16) / 15;
  }

  std::string text(const std::string& name, std::size_t row) {
    const std::size_t process = row / shape_.threads_per_process;
    if (name == kPcomm) return "service-" + std::to_string(process % shape_.names);
    if (name == kProcessPcomm) return "service-" + std::to_string(row % shape_.names);
    if (name == kComm) return "worker/" + std::to_string(row % shape_.names);
    if (name == kCgroup) return cgroup(process % shape_.cgroups);
    if (name == kCgroupPath) return cgroup(row);
    return name == "policy" ? "SCHED_OTHER" : name == "state" ? "S" : "disabled";
  }

  // Returns names that sort in numerical order.
  static std::string cgroup(std::size_t number) {
    std::string digits = std::to_string(number);
    return "/system.slice/unit-" + std::string(6 - std::min<std::size_t>(digits.size(), 6), '0') +
           digits + ".service";
  }

  Id map(std::size_t row) {
    std::vector<ctprof_entry> entries;
    for (const std::string_view key : {"Anonymous", "Locked", "Private_Clean", "Private_Dirty",
                                       "Pss", "Pss_Anon", "Rss", "Swap"})
      entries.push_back({{key.data(), key.size()}, 100 + (row * 37 + key.size()) % 9000});
    return snapshot_.pools->maps.append(entries, snapshot_.pools->texts);
  }

  HostShape shape_;
  std::mt19937_64 random_;
  Snapshot snapshot_;
  std::vector<std::uint64_t> all_cpus_{0xff};
};

// Finds the first difference between two snapshots, as text; empty if they are equal.
class SnapshotComparer {
 public:
  SnapshotComparer(const Snapshot& a, const Snapshot& b) : a_(a), b_(b) {}

  std::string first() {
    for (const Entity entity : {Entity::Thread, Entity::Process, Entity::Cgroup, Entity::Host})
      compare_tables(entity);
    if (a_.objects != b_.objects) note_difference("objects");
    if (a_.extras->unknown_keys != b_.extras->unknown_keys) note_difference("unknown keys");
    if (a_.read_at != b_.read_at) note_difference("read_at");
    compare_definitions();
    if (a_.window.has_value() != b_.window.has_value())
      note_difference("one is no window");
    else if (a_.window)
      compare_windows(*a_.window, *b_.window);
    return difference_;
  }

 private:
  void note_difference(const std::string& what) {
    if (difference_.empty()) difference_ = what;
  }

  // Returns all fields of a definition, a source or a capture, as a file stores them.
  template <class T>
  static std::string text_of(const T& object) {
    JsonWriter out;
    FieldWriter(out).write_object(object);
    return std::string(out.view());
  }

  void compare_definitions() {
    if (!std::equal(a_.derived.begin(), a_.derived.end(), b_.derived.begin(), b_.derived.end(),
                    [](const auto& a, const auto& b) { return text_of(a) == text_of(b); }))
      note_difference("derived metrics");
    if (a_.extras->unknown_meta != b_.extras->unknown_meta)
      note_difference("unknown members of ctprof");
    const UnknownDefinitions &a = a_.extras->unknown_definitions,
                             &b = b_.extras->unknown_definitions;
    if (a.members != b.members) note_difference("unknown members of the registry");
    if (a.metric_members != b.metric_members) note_difference("unknown members of metrics");
    if (a.derived_members != b.derived_members)
      note_difference("unknown members of derived metrics");
    if (!std::equal(a.metrics.begin(), a.metrics.end(), b.metrics.begin(), b.metrics.end(),
                    [](const auto& one, const auto& other) {
                      return one.name == other.name && one.path == other.path &&
                             one.definition == other.definition;
                    }))
      note_difference("unknown metrics");
  }

  void compare_tables(Entity entity) {
    const Table &a = a_.table(entity), &b = b_.table(entity);
    if (a.rows != b.rows)
      return note_difference(std::string(name(entity)) + " rows " + std::to_string(a.rows) +
                             " and " + std::to_string(b.rows));
    if (a.columns.size() != b.columns.size())
      return note_difference(std::string(name(entity)) + " columns");
    for (std::size_t i = 0; i < a.columns.size(); ++i) compare_columns(a.columns[i], b.columns[i]);
  }

  void compare_columns(const Column& a, const Column& b) {
    const std::string& name = a.def().name;
    if (text_of(a.def()) != text_of(b.def()))
      return note_difference("definition of " + name + ": " + text_of(a.def()) + " and " +
                             text_of(b.def()));
    if (text_of(a.provenance) != text_of(b.provenance)) note_difference("provenance of " + name);
    for (std::size_t row = 0; row < a.rows(); ++row) {
      if (a.gaps()[row] != b.gaps()[row])
        return note_difference(name + " gap in row " + std::to_string(row));
      if (a.has_value(row) && !same_value(a, b, row))
        return note_difference(name + " value in row " + std::to_string(row));
    }
  }

  void compare_windows(const Window& a, const Window& b) {
    const auto summary = [](const Window& of) {
      return std::tuple(of.opened_at.wall_unix_ns, of.opened_at.boottime_ns, of.living_threads,
                        of.exited_lost, of.exited_unknown, of.exited_merged, of.reports_exits,
                        of.is_partial, of.notes, of.host_context);
    };
    if (summary(a) != summary(b)) note_difference("window");
    if (a_.extras->unknown_window != b_.extras->unknown_window)
      note_difference("unknown members of the window");
    if (!std::ranges::equal(a.seen_times, b.seen_times,
                            [](const SeenTimes& one, const SeenTimes& other) {
                              return one.first == other.first && one.last == other.last;
                            }))
      note_difference("when threads were seen");
    for (std::size_t entity = 0; entity < kEntities; ++entity)
      compare_openings(a.openings[entity], b.openings[entity]);
    if (!a.opening_only != !b.opening_only)
      return note_difference("whether opening-only rows are known");
    if (!a.opening_only) return;
    const std::string opening_only_difference =
        SnapshotComparer(*a.opening_only, *b.opening_only).first();
    if (!opening_only_difference.empty())
      note_difference("opening-only rows: " + opening_only_difference);
  }

  void compare_openings(const Opening& a, const Opening& b) {
    if (a.started != b.started) note_difference("started rows");
    if (a.columns.size() != b.columns.size()) return note_difference("columns of an opening");
    for (std::size_t i = 0; i < a.columns.size(); ++i) compare_columns(a.columns[i], b.columns[i]);
  }

  bool same_value(const Column& a, const Column& b, std::size_t row) const {
    switch (a.def().storage) {
      case Storage::U64: return a.u64()[row] == b.u64()[row];
      case Storage::I64: return a.i64()[row] == b.i64()[row];
      case Storage::F64: return a.f64()[row] == b.f64()[row];
      case Storage::Bool: return a.bools()[row] == b.bools()[row];
      case Storage::String: return a_.pools->texts[a.ids()[row]] == b_.pools->texts[b.ids()[row]];
      case Storage::Map:
        return same_map(a_.pools->maps[a.ids()[row]], b_.pools->maps[b.ids()[row]]);
      case Storage::Stacks: return same_stacks(a.ids()[row], b.ids()[row]);
      default: break;
    }
    const auto one = a_.pools->words[a.ids()[row]], other = b_.pools->words[b.ids()[row]];
    return std::equal(one.begin(), one.end(), other.begin(), other.end());
  }

  // Compares contents, because each pool numbers its stacks independently.
  bool same_stacks(Id a, Id b) const {
    const StackPool &pool = a_.pools->stacks, &other = b_.pools->stacks;
    return std::ranges::equal(pool[a], other[b], [&](const auto& one, const auto& another) {
      return one.weight == another.weight &&
             text_of(pool.table, one.stack) == text_of(other.table, another.stack);
    });
  }

  static std::string text_of(const StackTable& table, std::uint64_t node) {
    std::string text;
    for (const std::uint32_t number : table.get_stack_frames(static_cast<std::uint32_t>(node))) {
      const Frame& frame = table.frames()[number];
      text += table.get_name(number) + "@" + std::to_string(frame.offset) +
              (frame.is_guessed ? "?" : "");
      if (number == StackTable::kTruncated) continue;
      const Module& module = table.modules()[frame.module];
      text += std::to_string(static_cast<int>(module.kind)) + module.path + ":" + module.build_id +
              ":" + std::to_string(module.process) + ";";
    }
    return text;
  }

  static bool same_map(std::span<const ctprof_entry> a, std::span<const ctprof_entry> b) {
    const auto key = [](const ctprof_entry& entry) {
      return std::string_view(entry.key.data, entry.key.size);
    };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const ctprof_entry& one, const ctprof_entry& other) {
                        return key(one) == key(other) && one.value == other.value;
                      });
  }

  const Snapshot& a_;
  const Snapshot& b_;
  std::string difference_;
};

inline std::string difference(const Snapshot& a, const Snapshot& b) {
  return SnapshotComparer(a, b).first();
}

inline std::string repeat_text(std::string_view item, std::size_t times) {
  std::string text;
  text.reserve(item.size() * times);
  for (std::size_t i = 0; i < times; ++i) text += item;
  return text;
}

}  // namespace ctprof::tests

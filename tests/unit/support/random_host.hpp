// Builds random snapshots with unusual contents: gaps in any cell, names that are not UTF-8,
// third-party columns, unlimited limits, processes without their leader, and unknown keys.

#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/file/layout/cell.hpp"
#include "core/snapshot/file_extras.hpp"
#include "ctprof/newtypes.hpp"
#include "tests/unit/support/idle_host.hpp"

namespace ctprof::tests {

class RandomHost {
 public:
  explicit RandomHost(std::uint64_t seed) : random_(seed) {}

  // Returns a snapshot with call stacks, which the rows layout cannot store.
  Snapshot make_with_stacks() {
    has_stacks_ = true;
    return make();
  }

  Snapshot make() {
    make_identity();
    for (const Entity entity : {Entity::Thread, Entity::Process, Entity::Cgroup, Entity::Host}) {
      for (const MetricDef& def : shipped_vocabulary().metrics)
        if (def.entity == entity && !def.is_mark && def.family != "identity" &&
            def.name != kThreadCount && random_below(4) != 0)
          add(def);
      for (const MetricDef& def : third_party_metric(entity))
        if (def.storage != Storage::Stacks || has_stacks_) add(def);
    }
    make_processes();
    make_unknown_keys();
    make_meta();
    make_unknown_definitions();
    return std::move(snapshot_);
  }

 private:
  std::uint64_t random_below(std::uint64_t limit) {
    return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(random_);
  }
  TextPool& texts() { return snapshot_.pools->texts; }

  // Adds threads of some processes, in order. Some processes have no leader.
  void make_identity() {
    Table& threads = snapshot_.threads();
    std::vector<std::pair<std::uint64_t, std::uint64_t>> rows;  // tgid, tid
    for (std::uint64_t process = 0, tid = 1 + random_below(5); process < random_below(20);
         ++process) {
      const std::uint64_t tgid = tid;
      if (random_below(4) != 0) rows.emplace_back(tgid, tgid);
      for (std::uint64_t thread = random_below(6); thread > 0; --thread)
        rows.emplace_back(tgid, ++tid);
      tid += 1 + random_below(1000);
    }
    threads.rows = rows.size();
    Column& tids = threads.add(identity_metric(kTid), Gap::None);
    Column& tgids = threads.add(identity_metric(kTgid), Gap::None);
    for (std::size_t row = 0; row < rows.size(); ++row)
      std::tie(tgids.u64()[row], tids.u64()[row]) = rows[row];
    for (const std::string_view name : {kPcomm, kComm, kCgroup, kStartTime})
      add(identity_metric(name));
    Table& cgroups = snapshot_.table(Entity::Cgroup);
    std::vector<std::string> paths(random_below(10));
    for (std::string& path : paths) path = "/" + random_text();
    std::sort(paths.begin(), paths.end());
    cgroups.rows = paths.size();
    Column& column = cgroups.add(identity_metric(kCgroupPath), Gap::None);
    for (std::size_t row = 0; row < paths.size(); ++row)
      column.ids()[row] = texts().intern(paths[row]);
    snapshot_.table(Entity::Host).rows = 1;
    for (std::size_t row = 0; row < rows.size(); ++row) snapshot_.read_at.push_back(random_());
    snapshot_.table(Entity::Process).rows = leaders().size();
  }

  std::vector<std::uint32_t> leaders() {
    const auto tgid = snapshot_.threads().find(kTgid)->u64(),
               tid = snapshot_.threads().find(kTid)->u64();
    std::map<std::uint64_t, std::uint32_t> rows;
    for (std::uint32_t row = 0; row < tgid.size(); ++row)
      if (!rows.contains(tgid[row]) || tid[row] == tgid[row]) rows[tgid[row]] = row;
    std::vector<std::uint32_t> found;
    for (const auto& [process, row] : rows) found.push_back(row);
    return found;
  }

  void make_processes() {
    const Table& threads = snapshot_.threads();
    Table& processes = snapshot_.table(Entity::Process);
    Column& tgids = processes.add(identity_metric(kProcessTgid), Gap::None);
    Column& pcomms = processes.add(identity_metric(kProcessPcomm), Gap::None);
    std::size_t process = 0;
    for (const std::uint32_t row : leaders()) {
      tgids.u64()[process] = threads.find(kTgid)->u64()[row];
      pcomms.ids()[process] = threads.find(kPcomm)->ids()[row];
      pcomms.gaps()[process++] = threads.find(kPcomm)->gaps()[row];
    }
  }

  std::vector<MetricDef> third_party_metric(Entity entity) {
    constexpr std::pair<const char*, Storage> kKinds[] = {{"MonotonicNs", Storage::U64},
                                                          {"OrdinalI32", Storage::I64},
                                                          {"Derived", Storage::F64},
                                                          {"Flag", Storage::Bool},
                                                          {"CategoricalString", Storage::String},
                                                          {"CpuSet", Storage::Bitset},
                                                          {"CountMap", Storage::Map},
                                                          {"StackNs", Storage::Stacks},
                                                          {"StackCount", Storage::Stacks},
                                                          {"LimitBytes", Storage::U64}};
    std::vector<MetricDef> defs;
    for (const auto& [newtype, storage] : kKinds) {
      MetricDef def;
      def.name = "third_" + std::string(name(entity)) + "." + newtype;
      def.entity = entity;
      def.storage = storage;
      def.newtype = newtype;
      def.rule = "ThirdPartysOwn";
      def.file_path = (entity == Entity::Cgroup ? "cgroup_stats[]."
                       : entity == Entity::Host ? "metrics."
                                                : "threads[].") +
                      def.name;
      def.file_absent = random_below(2) ? "omit" : "null";
      def.plugin = "third";
      def.reduction = kReductions[random_below(kReductions.size())];
      def.is_setting = random_below(2) != 0;
      def.costly = random_below(2) != 0;
      def.map_keys = random_below(2) ? "gauge kib: Rss" : "";
      def.file_aliases = random_below(2) ? def.name + "_old" : "";
      def.headline = random_headline();
      def.role = random_below(2) ? kRoles[random_below(kRoles.size())] : "";
      defs.push_back(def);
    }
    return defs;
  }

  std::optional<Headline> random_headline() {
    constexpr double kFloors[] = {0, 0.5, 0.1, 1000, 4294967296};
    if (random_below(2)) return std::nullopt;
    return Headline{.label = "%x" + std::to_string(random_below(100)),
                    .order = static_cast<std::uint32_t>(random_()),
                    .shown = static_cast<ctprof_shown>(random_below(3)),
                    .orders_by_change = random_below(2) != 0,
                    .floor = kFloors[random_below(std::size(kFloors))]};
  }

  void add(const MetricDef& def) {
    Column& column = snapshot_.table(def.entity).add(def, Gap::None);
    column.provenance = {random_below(2) ? "some-plugin" : "", "source", Gap::None,
                         random_below(2) ? "because" : ""};
    const std::uint64_t pattern = random_below(4);  // 0: empty, 1: full, 2: long runs, 3: arbitrary
    const auto whole = static_cast<ctprof_gap>(2 + random_below(10));
    for (std::size_t row = 0; row < column.rows(); ++row) {
      fill(column, row);
      if (pattern == 1 || (pattern == 2 && row > column.rows() / 2)) column.gaps()[row] = whole;
      if (pattern == 3 && random_below(3) == 0)
        column.gaps()[row] = static_cast<ctprof_gap>(2 + random_below(10));
    }
  }

  void fill(Column& column, std::size_t row) {
    const Bounds bounds = bounds_of(column.def());
    switch (column.def().storage) {
      case Storage::U64: column.u64()[row] = random_number(bounds.max); return;
      case Storage::I64:
        column.i64()[row] =
            random_below(2) ? bounds.min : static_cast<std::int64_t>(random_number(bounds.max));
        return;
      case Storage::F64: column.f64()[row] = random_real(); return;
      case Storage::Bool: column.bools()[row] = static_cast<std::uint8_t>(random_below(2)); return;
      case Storage::String: column.ids()[row] = texts().intern(random_text()); return;
      case Storage::Bitset: column.ids()[row] = make_bitset(); return;
      case Storage::Map: column.ids()[row] = map(); return;
      case Storage::Array:
        column.ids()[row] = snapshot_.pools->words.intern(std::vector{random_(), std::uint64_t{0}});
        return;
      case Storage::Stacks: column.ids()[row] = stacks(); return;
    }
  }

  std::uint64_t random_number(std::uint64_t most) {
    const std::uint64_t kind = random_below(4);
    return kind == 0 ? 0 : kind == 1 ? most : std::min(most, random_() >> random_below(64));
  }

  double random_real() {
    constexpr double kUnusualNumbers[] = {
        0.0, -0.0, 1.0, 0.1, -1e300, 5e-324, 1.7976931348623157e308, 123456789012345680.0};
    return random_below(2) ? kUnusualNumbers[random_below(std::size(kUnusualNumbers))]
                           : std::ldexp(static_cast<double>(random_()),
                                        static_cast<int>(random_below(400)) - 300);
  }

  std::string random_text() {
    constexpr std::string_view kPieces[] = {"a",
                                            "kworker/0:1",
                                            "\n",
                                            "\x1b[31m",
                                            "\"",
                                            "\\",
                                            "\x7f",
                                            "\xc3\xa4",
                                            "\xff",
                                            "\xe2\x82",
                                            "\xf0\x9f\x98",
                                            "\xed\xa0\x80",
                                            "\xf4\x90\x80\x80",
                                            "(x) ",
                                            ".",
                                            "\xe2\x82\xac"};
    std::string text;
    for (std::uint64_t pieces = random_below(5); pieces > 0; --pieces)
      text += kPieces[random_below(std::size(kPieces))];
    if (random_below(20) == 0) text += std::string(1, '\0') + std::string(3000, 'x');
    return text;
  }

  Id make_bitset() {
    std::vector<std::uint64_t> words(random_below(5));
    for (std::uint64_t& word : words) word = random_();
    while (!words.empty() && words.back() == 0) words.pop_back();
    return snapshot_.pools->words.intern(words);
  }

  Id map() {
    std::vector<ctprof_entry> entries;
    for (const std::string_view key : {"Rss", "Pss", "a.b", "\xc3\xa4", "", "quote\""})
      if (random_below(2))
        entries.push_back(
            {{key.data(), key.size()}, random_number(std::numeric_limits<std::uint64_t>::max())});
    return snapshot_.pools->maps.append(entries, texts());
  }

  Id stacks() {
    StackPool& pool = snapshot_.pools->stacks;
    std::vector<ctprof_stack> made(random_below(4));
    for (ctprof_stack& each : made)
      each = {random_stack(pool.table), random_number(std::numeric_limits<std::uint64_t>::max())};
    return pool.append(made);
  }

  std::uint32_t random_stack(StackTable& table) {
    std::vector<Frame> frames(random_below(6));
    for (Frame& frame : frames) {
      const Module module{static_cast<Module::Kind>(random_below(5)),
                          random_below(2) ? random_text() : "/bin/p",
                          random_below(2) ? std::string("\xff\0", 2) : "", random_below(3)};
      frame = {random_below(2) ? random_below(20) : random_(), table.add_module(module),
               random_below(2) != 0};
      if (random_below(2)) table.set_name(table.add_frame(frame), random_text());
    }
    return table.add_stack(frames, static_cast<WalkEnd>(random_below(4)));
  }

  void make_unknown_keys() {
    snapshot_.objects["host"] = R"({"cpu_model":"\u0001x","n":1.50e+3})";
    snapshot_.objects["unknown top"] = R"([1,-2,true,null,"\"",{"a":[]}])";
    const auto keep = [&](Entity entity, const char* path) {
      auto& pieces = snapshot_.extras->unknown_keys[static_cast<std::size_t>(entity)][path];
      for (std::uint32_t row = 0; row < snapshot_.table(entity).rows; ++row)
        if (random_below(2))
          pieces.emplace_back(row,
                              random_below(2) ? R"({"deep":[1.0,"x"]})" : "18446744073709551616");
      if (pieces.empty())
        snapshot_.extras->unknown_keys[static_cast<std::size_t>(entity)].erase(path);
    };
    keep(Entity::Thread, "newer_key");
    keep(Entity::Thread, "with\\.dot");
    keep(Entity::Thread, "\\0");
    keep(Entity::Cgroup, "memory.\\0");
    keep(Entity::Cgroup, "cpu.newer");
    keep(Entity::Cgroup, "newer");
    keep(Entity::Host, "psi.cpu.some.avg3600");
  }

  void make_meta() {
    Meta& meta = snapshot_.meta;
    meta.tool = random_text();
    meta.tool.clear();
    if (random_below(2)) meta.hostname = "host";
    meta.start = {random_(), random_()};
    meta.end = {random_(), random_()};
    meta.live = random_below(2) != 0;
    meta.own_threads = {1, 2, 3};
    meta.sources.resize(2);
    meta.sources[0] = {"p", "s", "thread", 1, 2, 3, 4, {{"Denied", 7}}, "gave up", 5};
    meta.notes = {"a note"};
    DerivedDef derived;
    derived.name = "ratio";
    derived.expression = "a / b";
    derived.headline = random_headline();
    derived.role = random_below(2) ? kRoles[0] : "";
    snapshot_.derived.push_back(derived);
  }

  // Adds definitions that only a newer version of ctprof could have written.
  void make_unknown_definitions() {
    UnknownDefinitions& unknown = snapshot_.extras->unknown_definitions;
    unknown.members["newer"] = R"({"a":[1.50e+3]})";
    unknown.metric_members["third_thread.Flag"]["newer"] = "18446744073709551616";
    unknown.metric_members["third_thread.Flag"]["older"] = "null";
    unknown.derived_members["ratio"]["newer"] = R"("\u0001")";
    unknown.metrics.push_back(
        {"moons", Entity::Thread, "newer_key",
         R"({"name":"moons","entity":"thread","storage":"u64","newtype":"Moons",)"
         R"("rule":"SumMoons","file_path":"threads[].newer_key"})"});
    snapshot_.extras->unknown_meta["newer"] = "[]";
  }

  std::mt19937_64 random_;
  bool has_stacks_ = false;
  Snapshot snapshot_;
};

}  // namespace ctprof::tests

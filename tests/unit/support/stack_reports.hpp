// Builds windows with stacks from function names, and reports about them.

#pragma once

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/compare/report/report.hpp"
#include "core/render/stacks_text.hpp"
#include "core/rules/rule_set.hpp"
#include "tests/unit/support/test_windows.hpp"

namespace ctprof::hand_made {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kMaxU64 = std::numeric_limits<std::uint64_t>::max();
inline const RuleSet kRuleSet;
inline const MetricDef kOnCpu = metric("on", "StackNs", "StackSum");

// A stack of function names, leaf first: "module:name", or "module+offset" for a frame without a
// name. A leading "?" marks a guessed frame. The module "[kernel]" is the kernel.
struct NamedStack {
  std::vector<std::string> frames;
  std::uint64_t weight = 0;
  WalkEnd ending = WalkEnd::Root;
};
using NamedStacks = std::vector<NamedStack>;

// A build of the modules: base offset of their functions, build id and directory.
struct ModuleBuild {
  std::uint64_t base = 0;
  std::string id = "id";
  std::string directory = "/bin/";
};

inline std::uint32_t add_stack(StackTable& table, const NamedStack& taken,
                               const ModuleBuild& build) {
  std::vector<Frame> frames;
  std::map<std::uint64_t, std::string> names;
  for (std::string text : taken.frames) {
    const bool is_guessed = text.front() == '?';
    if (is_guessed) text.erase(0, 1);
    const auto at = text.find_first_of(":+");
    const std::uint32_t module =
        text.starts_with("[kernel]")
            ? table.add_module({Module::Kind::Kernel, {}, {}, 0})
            : table.add_module(
                  {Module::Kind::File, build.directory + text.substr(0, at), build.id, 0});
    const std::string what = text.substr(at + 1);
    const std::uint64_t offset =
        text[at] == '+' ? std::stoull(what) : build.base + std::hash<std::string>()(what) % 100000;
    if (text[at] == ':') names[offset] = what;
    frames.push_back({offset, module, is_guessed});
  }
  const std::uint32_t node = table.add_stack(frames, taken.ending);
  for (std::uint32_t frame = 1; frame < table.frames().size(); ++frame)
    if (const auto name = names.find(table.frames()[frame].offset); name != names.end())
      table.set_name(frame, name->second);
  return node;
}

inline void add_stacks(Snapshot& snapshot, const MetricDef& def,
                       const std::vector<NamedStacks>& rows, const ModuleBuild& build = {}) {
  Cells<NamedStacks> cells(rows.begin(), rows.end());
  add(snapshot, def, cells, Gap::ThreadGone,
      [&](Column& column, std::size_t row, const NamedStacks& stacks) {
        std::vector<ctprof_stack> weighted;
        for (const NamedStack& taken : stacks)
          weighted.push_back({add_stack(snapshot.pools->stacks.table, taken, build), taken.weight});
        column.ids()[row] = snapshot.pools->stacks.append(weighted);
      });
}

// Returns a window of this length with a thread for each row; threads with the same name form a
// group.
inline Snapshot window_of(const std::vector<std::pair<std::string, NamedStacks>>& threads,
                          std::uint64_t seconds = 10, const ModuleBuild& build = {},
                          const MetricDef& def = kOnCpu) {
  std::vector<Thread> named;
  std::vector<NamedStacks> rows;
  Cells<std::uint64_t> starts;
  for (const auto& [name, row] : threads) {
    named.push_back({named.size() + 1, named.size() + 1, name, name});
    rows.push_back(row);
    starts.push_back(5);
  }
  const auto end = [&](std::uint64_t second) {
    Snapshot snapshot = snapshot_of(named);
    add_u64(snapshot, identity_metric(kStartTime), starts);
    snapshot.meta.boot_id = "b";
    snapshot.meta.start.boottime_ns = second * kSecond;
    snapshot.read_at.assign(named.size(), 1);
    return snapshot;
  };
  Snapshot made = make_test_window(end(10), end(10 + seconds));
  add_stacks(made, def, rows, build);
  return made;
}

inline Report report_of(const std::vector<const Snapshot*>& runs, Spec spec = {},
                        const RuleSet& rules = kRuleSet) {
  auto report = Report::make(runs, spec, {&rules, {}});
  BOOST_REQUIRE_MESSAGE(report, report.error().text);
  return std::move(*report);
}

inline StackGroup first_group(const Report& report) {
  BOOST_REQUIRE(report.stacks());
  BOOST_REQUIRE(!report.stacks()->groups().empty());
  return report.stacks()->make_group(report.stacks()->groups()[0]);
}

inline std::string name_of(const Report& report, const FunctionRow& row) {
  return format_function_with_module(report.stacks()->common_stacks().functions()[row.function]);
}

// Returns "self total" of a function, or "-" if it has no row.
inline std::string weights_of(const Report& report, const StackGroup& group,
                              const std::string& name, std::size_t side = 0) {
  for (const FunctionRow& row : group.functions)
    if (name_of(report, row) == name)
      return std::to_string(std::llround(row.sides[side].self)) + " " +
             std::to_string(std::llround(row.sides[side].total));
  return "-";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

inline double total_of(const Report& report, std::uint32_t group = 0, std::size_t side = 0) {
  const auto* metric = &report.metrics()[0];
  while (metric->name != "on") ++metric;
  return as_double(
      report.rollup()
          .read({side, group, static_cast<std::size_t>(metric - report.metrics().data())})
          .number);
}

}  // namespace ctprof::hand_made

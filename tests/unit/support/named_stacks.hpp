// Builds weighted stacks and shows them as text: "main;work" means that main called work.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::hand_made {

inline const MetricDef kStacks = metric("oncpu_stacks", "StackNs", "StackSum");

using StackValue = std::vector<std::pair<std::string, std::uint64_t>>;

// Returns the node of a stack of functions of one program, root first. A stack whose first function
// is `[truncated]` did not reach its root.
inline std::uint32_t node_of(StackTable& table, std::string_view functions) {
  const std::uint32_t module =
      table.add_module({Module::Kind::File, "/bin/p", "\x12\xab", 0, 4096});
  std::vector<Frame> frames;
  std::vector<std::string_view> names = split(functions, ';');
  const bool truncated = names.front() == "[truncated]";
  if (truncated) names.erase(names.begin());
  std::ranges::reverse(names);
  for (const std::string_view name : names) {
    const Frame frame{SeededHash()(name), module, name.ends_with('?'), 0};
    table.set_name(table.add_frame(frame), name);
    frames.push_back(frame);
  }
  return table.add_stack(frames, truncated ? WalkEnd::Failed : WalkEnd::Root);
}

inline Id set_of(StackPool& pool, const StackValue& value) {
  std::vector<ctprof_stack> stacks;
  for (const auto& [functions, weight] : value)
    stacks.push_back({node_of(pool.table, functions), weight});
  return pool.append(stacks);
}

inline Column& add_stacks(Snapshot& snapshot, const MetricDef& def,
                          const Cells<StackValue>& cells) {
  return add(snapshot, def, cells, Gap::ThreadGone,
             [&](Column& column, std::size_t row, const StackValue& value) {
               column.ids()[row] = set_of(snapshot.pools->stacks, value);
             });
}

inline std::string functions_of(const StackTable& table, std::uint32_t node) {
  std::string text;
  for (const std::uint32_t frame : table.get_stack_frames(node))
    text = table.get_name(frame) + (text.empty() ? "" : ";") + text;
  return text;
}

// Returns the stacks of a row, such as "main 2, main;work 5", or the name of its gap.
inline std::string stacks_of(const Snapshot& snapshot, const Column& column, std::size_t row) {
  if (!column.has_value(row)) return std::string(name(column.gap(row)));
  const StackPool& pool = snapshot.pools->stacks;
  std::vector<std::string> stacks;
  for (const ctprof_stack& each : pool[column.ids()[row]])
    stacks.push_back(functions_of(pool.table, each.stack) + " " + std::to_string(each.weight));
  std::ranges::sort(stacks);
  return join_texts(stacks);
}

}  // namespace ctprof::hand_made

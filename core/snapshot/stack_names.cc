#include "core/snapshot/stack_names.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <span>
#include <tuple>
#include <utility>

#include "core/base/text.hpp"

namespace ctprof {
namespace {

std::size_t unnamed_in(const StackTable& table) {
  std::size_t unnamed = 0;
  for (std::uint32_t frame = 0; frame < table.frames().size(); ++frame)
    unnamed += table.name(frame).empty();
  return unnamed;
}

std::size_t inlined_in(const StackTable& table) {
  return static_cast<std::size_t>(
      std::ranges::count_if(table.frames(), [](const Frame& frame) { return frame.inlined != 0; }));
}

// Returns the new node of a stack. If the table was full, returns that of its longest part from the
// root.
std::uint32_t node_in(const std::vector<std::uint32_t>& nodes, const StackTable& old,
                      std::uint32_t node) {
  while (nodes[node] == StackTable::kNoStack) node = old.nodes()[node].parent;
  return nodes[node];
}

void move_stacks(Column& column, StackPool& pool, const std::vector<std::uint32_t>& moved) {
  if (column.def().storage != Storage::Stacks) return;
  std::vector<ctprof_stack> stacks;
  for (std::size_t row = 0; row < column.rows(); ++row) {
    if (!column.has_value(row)) continue;
    const auto old = pool[column.ids()[row]];
    stacks.assign(old.begin(), old.end());
    for (ctprof_stack& stack : stacks) stack.stack = moved[stack.stack];
    column.ids()[row] = pool.append(stacks);
  }
}

void add_inlines(Snapshot& window, const NameSources& sources, std::chrono::nanoseconds time,
                 const std::atomic<bool>* stop, StackNames& result) {
  StackPool& pool = window.pools->stacks;
  const std::size_t before = inlined_in(pool.table);
  WithInlines more = with_inlines(pool.table, sources, time, stop);
  result.cut = more.cut;
  result.has_reader = more.has_reader;
  result.without_info = std::move(more.without_info);
  result.without_moved = std::move(more.without_moved);
  result.without_split = std::move(more.without_split);
  result.inlined = inlined_in(more.table) - std::min(before, inlined_in(more.table));
  if (result.inlined == 0) return;
  std::vector<std::uint32_t> moved;
  for (std::uint32_t node = 0; node < more.nodes.size(); ++node)
    moved.push_back(node_in(more.nodes, pool.table, node));
  pool.table = std::move(more.table);
  for (Table& table : window.tables)
    for (Column& column : table.columns) move_stacks(column, pool, moved);
  if (!window.window) return;
  for (Opening& opening : window.window->openings)
    for (Column& column : opening.columns) move_stacks(column, pool, moved);
}

}  // namespace

std::string in_words(const std::vector<Module>& modules) {
  constexpr std::size_t kMostShown = 3;
  std::vector<std::string> names;
  for (const Module& module : std::span(modules).first(std::min(modules.size(), kMostShown)))
    names.push_back(module.kind == Module::Kind::Anonymous
                        ? "process " + std::to_string(module.process)
                        : "'" + valid_utf8(module.path) + "'");
  const std::string text = joined(names);
  const std::size_t more = modules.size() - names.size();
  return more == 0 ? text
                   : text + " and " + std::to_string(more) + (more == 1 ? " other" : " others");
}

std::string unnamed_for_limits(const std::vector<Module>& modules) {
  return "cannot name all functions: " + in_words(modules) +
         ": symbols exceed the limits on work; `ctprof symbolize` names more of them";
}

std::vector<std::string> inlines_missing_in_words(const StackNames& names) {
  std::vector<std::string> messages;
  const auto add = [&](const std::vector<Module>& modules, const char* why) {
    if (!modules.empty())
      messages.push_back("cannot find all inlined functions: " + in_words(modules) + ": " + why);
  };
  if (!names.has_reader)
    messages.emplace_back(
        "cannot resolve inlined functions: 'libdw.so.1': library not found; install libdw1");
  else
    add(names.without_info, "no debug information; --debug-dir says where it is");
  add(names.without_moved, "the file that dwz moved debug information to is missing");
  add(names.without_split, "debug information in .dwo or .dwp files is missing");
  if (names.cut > 0)
    messages.push_back("debug information that was too large to be read, or took too long: of " +
                       std::to_string(names.cut) + (names.cut == 1 ? " file" : " files"));
  return messages;
}

StackNames name_stacks(Snapshot& window, const NameSources& sources, bool inlines,
                       const NamingLimits& limits) {
  StackTable& table = window.pools->stacks.table;
  StackNames result;
  const std::size_t before = unnamed_in(table);
  const NamedFrames named = name_frames(table, sources, limits.names);
  result.unnamed = named.unnamed;
  for (const std::uint32_t module : named.beyond)
    result.beyond_limits.push_back(table.modules()[module]);
  result.named = before - result.unnamed;
  if (inlines) add_inlines(window, sources, limits.inlines, limits.names.stop, result);
  result.frames = table.frames().size() - 1;
  for (StackTally& tally : window.meta.stacks) {
    tally.frames = result.frames;
    tally.unnamed = result.unnamed;
  }
  return result;
}

std::vector<Nameless> nameless_modules(const StackTable& table) {
  std::vector<Nameless> found(table.modules().size());
  for (std::uint32_t module = 0; module < found.size(); ++module) found[module].module = module;
  for (std::uint32_t frame = StackTable::kTruncated + 1; frame < table.frames().size(); ++frame)
    if (table.name(frame).empty()) ++found[table.frames()[frame].module].frames;
  std::erase_if(found, [](const Nameless& module) { return module.frames == 0; });
  std::ranges::stable_sort(found, std::greater<>(), &Nameless::frames);
  return found;
}

}  // namespace ctprof

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

std::size_t count_unnamed(const StackTable& table) {
  std::size_t unnamed = 0;
  for (std::uint32_t frame = 0; frame < table.frames().size(); ++frame)
    unnamed += table.get_name(frame).empty();
  return unnamed;
}

std::size_t count_inlined(const StackTable& table) {
  return static_cast<std::size_t>(std::ranges::count_if(
      table.frames(), [](const Frame& frame) { return frame.inline_depth != 0; }));
}

// Returns the new node of a stack. If the table was full, returns that of its longest part from the
// root.
std::uint32_t mapped_node(const std::vector<std::uint32_t>& nodes, const StackTable& old,
                          std::uint32_t node) {
  while (nodes[node] == StackTable::kNoStack) node = old.nodes()[node].parent;
  return nodes[node];
}

void move_stacks(Column& column, StackPool& pool, const std::vector<std::uint32_t>& new_nodes) {
  if (column.def().storage != Storage::Stacks) return;
  std::vector<ctprof_stack> stacks;
  for (std::size_t row = 0; row < column.rows(); ++row) {
    if (!column.has_value(row)) continue;
    const auto old = pool[column.ids()[row]];
    stacks.assign(old.begin(), old.end());
    for (ctprof_stack& stack : stacks) stack.stack = new_nodes[stack.stack];
    column.ids()[row] = pool.append(stacks);
  }
}

void add_inlines(Snapshot& window, const NameSources& sources, std::chrono::nanoseconds time,
                 const std::atomic<bool>* stop, NamingResult& result) {
  StackPool& pool = window.pools->stacks;
  const std::size_t before = count_inlined(pool.table);
  InlineExpansion result_with_inlines = expand_inlines(pool.table, sources, time, stop);
  result.oversized_modules = result_with_inlines.limited_modules;
  result.has_reader = result_with_inlines.has_reader;
  result.without_info = std::move(result_with_inlines.without_debug_information);
  result.without_moved = std::move(result_with_inlines.without_dwz_file);
  result.without_split = std::move(result_with_inlines.without_split_units);
  result.added_inlined = count_inlined(result_with_inlines.table) -
                         std::min(before, count_inlined(result_with_inlines.table));
  if (result.added_inlined == 0) return;
  std::vector<std::uint32_t> new_nodes;
  for (std::uint32_t node = 0; node < result_with_inlines.nodes.size(); ++node)
    new_nodes.push_back(mapped_node(result_with_inlines.nodes, pool.table, node));
  pool.table = std::move(result_with_inlines.table);
  for (Table& table : window.tables)
    for (Column& column : table.columns) move_stacks(column, pool, new_nodes);
  if (!window.window) return;
  for (Opening& opening : window.window->openings)
    for (Column& column : opening.columns) move_stacks(column, pool, new_nodes);
}

}  // namespace

std::string describe_modules(const std::vector<Module>& modules) {
  constexpr std::size_t kMaxShown = 3;
  std::vector<std::string> names;
  for (const Module& module : std::span(modules).first(std::min(modules.size(), kMaxShown)))
    names.push_back(module.kind == Module::Kind::Anonymous
                        ? "process " + std::to_string(module.process)
                        : "'" + replace_invalid_utf8(module.path) + "'");
  const std::string text = join_texts(names);
  const std::size_t others = modules.size() - names.size();
  return others == 0 ? text : text + " and " + format_count(others, "other");
}

std::string naming_limit_message(const std::vector<Module>& modules) {
  return "cannot name all functions of " + describe_modules(modules) +
         ": resolving their symbols exceeds the work limit of one run; `ctprof symbolize` names "
         "more "
         "of them";
}

std::vector<std::string> missing_inlines_messages(const NamingResult& names) {
  std::vector<std::string> messages;
  const auto add = [&](const std::vector<Module>& modules, const char* why) {
    if (!modules.empty())
      messages.push_back("cannot find all inlined functions: " + describe_modules(modules) + ": " +
                         why);
  };
  if (!names.has_reader)
    messages.emplace_back(
        "cannot resolve inlined functions: 'libdw.so.1': library not found; install libdw1");
  else
    add(names.without_info, "no debug information; specify its directory with --debug-dir");
  add(names.without_moved, "the file that dwz moved debug information to is missing");
  add(names.without_split, "debug information in .dwo or .dwp files is missing");
  if (names.oversized_modules > 0)
    messages.push_back(
        "cannot find all inlined functions: the debug information is too large, or reading it took "
        "too long: " +
        format_count(names.oversized_modules, "file"));
  return messages;
}

NamingResult name_stacks(Snapshot& window, const NameSources& sources, bool inlines,
                         const NamingLimits& limits) {
  StackTable& table = window.pools->stacks.table;
  NamingResult result;
  const std::size_t before = count_unnamed(table);
  const NamedFrames named = name_frames(table, sources, limits.names);
  result.still_unnamed = named.unnamed_frames;
  for (const std::uint32_t module : named.limited_modules)
    result.beyond_limits.push_back(table.modules()[module]);
  result.newly_named = before - result.still_unnamed;
  if (inlines) add_inlines(window, sources, limits.inlines, limits.names.stop, result);
  result.frames = table.frames().size() - 1;
  for (StackTally& tally : window.meta.stacks) {
    tally.frames = result.frames;
    tally.unnamed_frames = result.still_unnamed;
  }
  return result;
}

std::vector<UnnamedModule> find_unnamed_modules(const StackTable& table) {
  std::vector<UnnamedModule> found(table.modules().size());
  for (std::uint32_t module = 0; module < found.size(); ++module) found[module].module = module;
  for (std::uint32_t frame = StackTable::kTruncated + 1; frame < table.frames().size(); ++frame)
    if (table.get_name(frame).empty()) ++found[table.frames()[frame].module].frames;
  std::erase_if(found, [](const UnnamedModule& module) { return module.frames == 0; });
  std::ranges::stable_sort(found, std::greater<>(), &UnnamedModule::frames);
  return found;
}

}  // namespace ctprof

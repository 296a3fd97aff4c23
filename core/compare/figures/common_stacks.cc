#include "core/compare/figures/common_stacks.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/stacks/address_space.hpp"

namespace ctprof {
namespace {

// As many as one run can have (core/stacks/stack_table.cc); 60 bytes each.
constexpr std::size_t kMaxStacks = 4 << 20;
constexpr std::uint32_t kNoNode = std::numeric_limits<std::uint32_t>::max();

std::string_view base_name(std::string_view path) {
  path = remove_deleted_suffix(path);
  return path.substr(path.rfind('/') + 1);
}

std::string module_name(const Module& module) {
  switch (module.kind) {
    case Module::Kind::Kernel: return "[kernel]";
    case Module::Kind::File: return std::string(base_name(module.path));
    case Module::Kind::Vdso: return "[vdso]";
    case Module::Kind::Anonymous: return "[anonymous]";
    case Module::Kind::Unknown: break;
  }
  return "[unknown]";
}

// The key contains the length of the name, so that different parts never form equal keys.
std::string function_key(std::string_view name, const Module& module, std::uint64_t offset) {
  const std::string kind = std::to_string(static_cast<int>(module.kind));
  if (!name.empty())
    return "n" + kind + ' ' + std::to_string(name.size()) + ' ' + std::string(name) +
           module_name(module);
  const std::string& module_identity = module.build_id.empty() ? module.path : module.build_id;
  return "o" + kind + ' ' + std::to_string(module.process) + ' ' + std::to_string(offset) + ' ' +
         (module.build_id.empty() ? 'p' : 'b') + module_identity;
}

}  // namespace

CommonStacks::CommonStacks() : nodes_(1) {}

std::uint32_t CommonStacks::add_function(const std::string& key, StackFunction function) {
  const auto next = static_cast<std::uint32_t>(functions_.size());
  const auto [existing_entry, is_new] = function_numbers_.emplace(key, next);
  if (is_new)
    functions_.push_back(std::move(function));
  else
    functions_[existing_entry->second].is_guessed &= function.is_guessed;
  return existing_entry->second;
}

// Returns the number of each frame of the run.
std::vector<std::uint32_t> CommonStacks::add_functions(const StackTable& run) {
  std::vector<std::uint32_t> numbers;
  const std::string& truncated = run.get_name(StackTable::kTruncated);
  numbers.push_back(add_function(truncated, {truncated, "", 0, false}));
  for (std::uint32_t at = StackTable::kTruncated + 1; at < run.frames().size(); ++at) {
    const Frame& frame = run.frames()[at];
    const Module& module = run.modules()[frame.module];
    const std::string& name = run.get_name(at);
    const std::uint64_t offset = name.empty() ? frame.offset : 0;
    numbers.push_back(add_function(function_key(name, module, offset),
                                   {name, module_name(module), offset, frame.is_guessed}));
  }
  return numbers;
}

std::uint32_t CommonStacks::add_stack(std::uint32_t caller, std::uint32_t function,
                                      bool is_guessed) {
  if (caller == kNoNode) return kNoNode;
  const std::uint64_t key = std::uint64_t{caller} << 32 | function;
  if (const auto existing_entry = stack_numbers_.find(key);
      existing_entry != stack_numbers_.end()) {
    nodes_[existing_entry->second].is_guessed &= is_guessed;
    return existing_entry->second;
  }
  if (nodes_.size() == kMaxStacks) return kNoNode;
  const auto number = static_cast<std::uint32_t>(nodes_.size());
  stack_numbers_.emplace(key, number);
  nodes_.push_back({caller, function, nodes_[caller].depth + 1, is_guessed});
  return number;
}

std::vector<std::uint32_t> CommonStacks::add(const StackTable& run) {
  const auto functions = add_functions(run);
  std::vector<std::uint32_t> numbers{kEmptyStack};
  for (std::uint32_t at = StackTable::kTop + 1; at < run.nodes().size(); ++at) {
    const StackTable::Node& node = run.nodes()[at];
    numbers.push_back(add_stack(numbers[node.parent], functions[node.frame],
                                run.frames()[node.frame].is_guessed));
  }
  dropped_stacks_ += static_cast<std::size_t>(std::ranges::count(numbers, kNoNode));
  std::ranges::replace(numbers, kNoNode, kEmptyStack);
  return numbers;
}

std::vector<std::uint32_t> CommonStacks::functions_of(std::uint32_t stack,
                                                      std::size_t max_functions) const {
  std::vector<std::uint32_t> functions;
  for (; stack != kEmptyStack && functions.size() < max_functions; stack = caller(stack))
    functions.push_back(function(stack));
  return functions;
}

// Walks the tree once from the root, and counts how often each function is active.
std::vector<bool> CommonStacks::find_outermost() const {
  std::vector<std::uint32_t> open(functions_.size()), child(size()), next(size());
  for (std::uint32_t stack = static_cast<std::uint32_t>(size()) - 1; stack != kEmptyStack; --stack)
    next[stack] = std::exchange(child[caller(stack)], stack);
  std::vector<bool> found(size());
  for (std::uint32_t at = child[kEmptyStack]; at != kEmptyStack;) {
    found[at] = open[function(at)]++ == 0;
    if (child[at] != kEmptyStack) {
      at = child[at];
      continue;
    }
    for (; at != kEmptyStack && next[at] == kEmptyStack; at = caller(at)) --open[function(at)];
    if (at == kEmptyStack) break;
    --open[function(at)];
    at = next[at];
  }
  return found;
}

}  // namespace ctprof

#include "core/compare/figures/stack_book.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/stacks/address_space.hpp"

namespace ctprof {
namespace {

// As many as one run can have (core/stacks/stack_table.cc); 60 bytes each.
constexpr std::size_t kMostStacks = 4 << 20;
constexpr std::uint32_t kNoNode = std::numeric_limits<std::uint32_t>::max();

std::string_view file_name(std::string_view path) {
  path = without_deleted(path);
  return path.substr(path.rfind('/') + 1);
}

std::string module_name(const Module& module) {
  switch (module.kind) {
    case Module::Kind::Kernel: return "[kernel]";
    case Module::Kind::File: return std::string(file_name(module.path));
    case Module::Kind::Vdso: return "[vdso]";
    case Module::Kind::Anonymous: return "[anonymous]";
    case Module::Kind::Unknown: break;
  }
  return "[unknown]";
}

// The key contains the length of the name, so that different parts never form equal keys.
std::string key_of(std::string_view name, const Module& module, std::uint64_t offset) {
  const std::string kind = std::to_string(static_cast<int>(module.kind));
  if (!name.empty())
    return "n" + kind + ' ' + std::to_string(name.size()) + ' ' + std::string(name) +
           module_name(module);
  const std::string& module_is = module.build_id.empty() ? module.path : module.build_id;
  return "o" + kind + ' ' + std::to_string(module.process) + ' ' + std::to_string(offset) + ' ' +
         (module.build_id.empty() ? 'p' : 'b') + module_is;
}

}  // namespace

StackBook::StackBook() : nodes_(1) {}

std::uint32_t StackBook::add_function(const std::string& key, StackFunction function) {
  const auto next = static_cast<std::uint32_t>(functions_.size());
  const auto [known, is_new] = function_numbers_.emplace(key, next);
  if (is_new)
    functions_.push_back(std::move(function));
  else
    functions_[known->second].is_guessed &= function.is_guessed;
  return known->second;
}

// Returns the number of each frame of the run.
std::vector<std::uint32_t> StackBook::add_functions(const StackTable& run) {
  std::vector<std::uint32_t> numbers;
  const std::string& truncated = run.name(StackTable::kTruncated);
  numbers.push_back(add_function(truncated, {truncated, "", 0, false}));
  for (std::uint32_t at = StackTable::kTruncated + 1; at < run.frames().size(); ++at) {
    const Frame& frame = run.frames()[at];
    const Module& module = run.modules()[frame.module];
    const std::string& name = run.name(at);
    const std::uint64_t offset = name.empty() ? frame.offset : 0;
    numbers.push_back(add_function(key_of(name, module, offset),
                                   {name, module_name(module), offset, frame.is_guessed}));
  }
  return numbers;
}

std::uint32_t StackBook::add_stack(std::uint32_t caller, std::uint32_t function, bool is_guessed) {
  if (caller == kNoNode) return kNoNode;
  const std::uint64_t key = std::uint64_t{caller} << 32 | function;
  if (const auto known = stack_numbers_.find(key); known != stack_numbers_.end()) {
    nodes_[known->second].is_guessed &= is_guessed;
    return known->second;
  }
  if (nodes_.size() == kMostStacks) return kNoNode;
  const auto number = static_cast<std::uint32_t>(nodes_.size());
  stack_numbers_.emplace(key, number);
  nodes_.push_back({caller, function, nodes_[caller].depth + 1, is_guessed});
  return number;
}

std::vector<std::uint32_t> StackBook::add(const StackTable& run) {
  const auto functions = add_functions(run);
  std::vector<std::uint32_t> numbers{kEmpty};
  for (std::uint32_t at = StackTable::kTop + 1; at < run.nodes().size(); ++at) {
    const StackTable::Node& node = run.nodes()[at];
    numbers.push_back(add_stack(numbers[node.parent], functions[node.frame],
                                run.frames()[node.frame].is_guessed));
  }
  beyond_ += static_cast<std::size_t>(std::ranges::count(numbers, kNoNode));
  std::ranges::replace(numbers, kNoNode, kEmpty);
  return numbers;
}

std::vector<std::uint32_t> StackBook::functions_of(std::uint32_t stack, std::size_t most) const {
  std::vector<std::uint32_t> functions;
  for (; stack != kEmpty && functions.size() < most; stack = caller(stack))
    functions.push_back(function(stack));
  return functions;
}

// Walks the tree once from the root, and counts how often each function is active.
std::vector<bool> StackBook::outermost() const {
  std::vector<std::uint32_t> open(functions_.size()), child(size()), next(size());
  for (std::uint32_t stack = static_cast<std::uint32_t>(size()) - 1; stack != kEmpty; --stack)
    next[stack] = std::exchange(child[caller(stack)], stack);
  std::vector<bool> found(size());
  for (std::uint32_t at = child[kEmpty]; at != kEmpty;) {
    found[at] = open[function(at)]++ == 0;
    if (child[at] != kEmpty) {
      at = child[at];
      continue;
    }
    for (; at != kEmpty && next[at] == kEmpty; at = caller(at)) --open[function(at)];
    if (at == kEmpty) break;
    --open[function(at)];
    at = next[at];
  }
  return found;
}

}  // namespace ctprof

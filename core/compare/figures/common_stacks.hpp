// Common stacks: assigns common numbers to the functions and stacks of all runs.
//
// A frame of a run is an instruction (core/stacks). A frame of the common stacks is a function,
// identified by its name and the file name of its module, so two builds of a program on two hosts
// share functions. A function without a name is identified by its offset and the build id of its
// module, or the path if there is no build id. Stacks with the same functions are one stack.
//
// Runs are added one by one; their tables are not needed afterwards. The number of stacks is
// limited: stacks beyond the limit become the empty stack, and are counted.
//
// See also: stack_figures.hpp computes the weights of stacks.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "core/stacks/stack_table.hpp"

namespace ctprof {

// A function, or an instruction outside all named functions.
struct StackFunction {
  std::string name;          // empty: unknown
  std::string module;        // a file name, or "[kernel]", "[vdso]", "[anonymous]", "[unknown]"
  std::uint64_t offset = 0;  // in the module, if there is no name
  bool is_guessed = false;   // found only by guessing, so it may be wrong
};

class CommonStacks {
 public:
  static constexpr std::uint32_t kEmptyStack = 0;  // the stack without functions

  CommonStacks();

  // Returns the common number of each node of the run's table.
  std::vector<std::uint32_t> add(const StackTable& run);

  const std::vector<StackFunction>& functions() const { return functions_; }
  // Returns the number of stacks. The callers of a stack have smaller numbers.
  std::size_t size() const { return nodes_.size(); }
  std::uint32_t function(std::uint32_t stack) const { return nodes_[stack].function; }
  // Returns the stack without its leaf.
  std::uint32_t caller(std::uint32_t stack) const { return nodes_[stack].caller; }
  // Returns whether the leaf was found only by guessing, so it may be wrong.
  bool is_guessed(std::uint32_t stack) const { return nodes_[stack].is_guessed; }
  // Returns the number of functions in the stack.
  std::uint32_t depth(std::uint32_t stack) const { return nodes_[stack].depth; }
  // Returns the first functions of the stack, at most `max_functions`, leaf first.
  std::vector<std::uint32_t> functions_of(std::uint32_t stack, std::size_t max_functions) const;
  // Returns, by stack, whether the function of its leaf does not occur among its callers.
  std::vector<bool> find_outermost() const;
  // Returns the number of stacks that exceeded the limit.
  std::size_t dropped_stacks() const { return dropped_stacks_; }

 private:
  struct Node {
    std::uint32_t caller = kEmptyStack, function = 0, depth = 0;
    bool is_guessed = false;
  };

  std::vector<std::uint32_t> add_functions(const StackTable& run);
  std::uint32_t add_function(const std::string& key, StackFunction function);
  std::uint32_t add_stack(std::uint32_t caller, std::uint32_t function, bool is_guessed);

  std::vector<StackFunction> functions_;
  std::vector<Node> nodes_;
  std::size_t dropped_stacks_ = 0;
  std::unordered_map<std::string, std::uint32_t, SeededHash> function_numbers_;
  std::unordered_map<std::uint64_t, std::uint32_t, SeededHash> stack_numbers_;
};

}  // namespace ctprof

// The stack book: the functions and stacks of all runs, under numbers that they have in common.
//
// A run's frames are instructions (core/stacks). Here a frame is a function: known by its name and
// its module's file name, so that two builds of one program, on two hosts, have the same; one
// without a name is known by its module's build id (by its path, where it has none) and its place
// there. Stacks of the same functions are one stack.
//
// Runs are added one by one, and their tables are not needed afterwards. There is a limit: stacks
// beyond it are the empty stack, and are counted.
//
// Not here: what stacks weigh (stack_figures.hpp).

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

// A function, or an instruction that is in none which has a name.
struct StackFunction {
  std::string name;          // empty: none is known
  std::string module;        // a file's name, or "[kernel]", "[vdso]", "[anonymous]", "[unknown]"
  std::uint64_t offset = 0;  // in the module, where there is no name
  bool is_guessed = false;   // it was only found by guesses, and may be wrong
};

class StackBook {
 public:
  static constexpr std::uint32_t kEmpty = 0;  // the stack without functions

  StackBook();

  // By node of the run's table, its number here.
  std::vector<std::uint32_t> add(const StackTable& run);

  const std::vector<StackFunction>& functions() const { return functions_; }
  // The number of stacks. A stack's callers have smaller numbers.
  std::size_t size() const { return nodes_.size(); }
  std::uint32_t function(std::uint32_t stack) const { return nodes_[stack].function; }
  // The stack without its leaf.
  std::uint32_t caller(std::uint32_t stack) const { return nodes_[stack].caller; }
  // Whether its leaf was only found by guesses, and may be wrong.
  bool is_guessed(std::uint32_t stack) const { return nodes_[stack].is_guessed; }
  // How many functions it has.
  std::uint32_t depth(std::uint32_t stack) const { return nodes_[stack].depth; }
  // The first of the stack's functions, leaf first.
  std::vector<std::uint32_t> functions_of(std::uint32_t stack, std::size_t most) const;
  // Whether the stack's leaf is not one of its callers as well, by stack.
  std::vector<bool> outermost() const;
  // Stacks of runs that have no number of their own.
  std::size_t beyond() const { return beyond_; }

 private:
  struct Node {
    std::uint32_t caller = kEmpty, function = 0, depth = 0;
    bool is_guessed = false;
  };

  std::vector<std::uint32_t> add_functions(const StackTable& run);
  std::uint32_t add_function(const std::string& key, StackFunction function);
  std::uint32_t add_stack(std::uint32_t caller, std::uint32_t function, bool is_guessed);

  std::vector<StackFunction> functions_;
  std::vector<Node> nodes_;
  std::size_t beyond_ = 0;
  std::unordered_map<std::string, std::uint32_t, SeededHash> function_numbers_;
  std::unordered_map<std::uint64_t, std::uint32_t, SeededHash> stack_numbers_;
};

}  // namespace ctprof

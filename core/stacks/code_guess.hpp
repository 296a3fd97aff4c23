// Where the caller's frame is, derived from x86-64 code that has no call frame information: musl's
// libc, hand-written assembly.
//
// From an address, the code is followed forwards, also across branches, until it returns: how far
// the stack pointer moves until then tells where the return address is. Where no way returns, the
// function's beginning is searched backwards, and the pushes from there on are counted. Neither is
// certain, so what is found must pass a check (a call precedes the return address), and frames
// that are found so are marked as guessed.
//
// Code may be hostile: at most kMostInstructions are decoded, and each counts kStepsOfInstruction.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/stacks/rule.hpp"

namespace ctprof {

struct CodeGuess {
  static constexpr std::size_t kMostRules = 4;

  // Most likely first. All restore the return address from memory.
  std::vector<Rule> rules;
  // The first rule is that of a way to a return instruction, along which nothing is left open.
  bool returns = false;
  // That way returns to an address that is in a register now: no memory has it.
  bool is_in_register = false;
  std::uint64_t steps = 0;
};

// Whether code is what the kernel returns to from a signal's handler: it calls rt_sigreturn(2), and
// the interrupted registers are on the stack.
bool is_signal_return(std::string_view code);

// Whether code is that of __start_context.
bool is_start_context_code(std::string_view code);

inline constexpr std::size_t kMostInstructions = 2048;
inline constexpr std::uint64_t kStepsOfInstruction = 4;
inline constexpr std::uint64_t kMostStepsOfGuess = kMostInstructions * kStepsOfInstruction;

// Bytes of code to pass on either side of an address.
inline constexpr std::uint64_t kCodeBefore = 2048, kCodeBehind = 4096;

// The function where a program starts, which has no call frame information in some C libraries, is
// no longer than this.
inline constexpr std::uint64_t kLongestStart = 64;

// `code`: what surrounds the address, which is at `at` in it; `start` is the file's address of its
// first byte. REQUIRES: at <= code.size().
CodeGuess guess_from_code(std::string_view code, std::size_t at, std::uint64_t start);

}  // namespace ctprof

// Derives the location of the caller's frame from x86-64 code without call frame information, such
// as musl's libc and hand-written assembly.
//
// From an address, the code is followed forwards, including branches, until it returns: the
// movement of the stack pointer on this path gives the location of the return address. If no path
// returns, the beginning of the function is searched backwards, and the pushes from there are
// counted. Neither is certain, so the result must pass a check (a call precedes the return
// address), and its frames are marked as guessed.
//
// Code may be hostile: at most kMaxInstructions are decoded, each costs kStepsPerInstruction.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/stacks/rule.hpp"

namespace ctprof {

struct CodeGuess {
  static constexpr std::size_t kMaxRules = 4;

  // The most likely rule is first. All restore the return address from memory.
  std::vector<UnwindRule> rules;
  // The first rule belongs to a path to a return instruction, on which everything is known.
  bool has_return_path = false;
  // This path returns to an address that is in a register now and not in memory.
  bool is_return_in_register = false;
  std::uint64_t steps = 0;
};

// Returns whether code is the one that a signal handler returns to: it calls rt_sigreturn(2), and
// the interrupted registers are on the stack.
bool is_signal_return(std::string_view code);

// Returns whether code is that of glibc's __start_context.
bool is_start_context_code(std::string_view code);

inline constexpr std::size_t kMaxInstructions = 2048;
inline constexpr std::uint64_t kStepsPerInstruction = 4;
inline constexpr std::uint64_t kMaxStepsPerGuess = kMaxInstructions * kStepsPerInstruction;

// The number of bytes of code to pass before and after an address.
inline constexpr std::uint64_t kCodeBytesBefore = 2048, kCodeBytesAfter = 4096;

// Maximum size of the function where a program starts, which has no call frame information in some
// C libraries.
inline constexpr std::uint64_t kMaxStartFunctionSize = 64;

// Derives rules for the address at offset `at` in `code`, which includes the code around it;
// `start` is the file address of the first byte. REQUIRES: at <= code.size().
CodeGuess guess_from_code(std::string_view code, std::size_t at, std::uint64_t start);

}  // namespace ctprof

// Finds the frames at the leaf of a kernel stack that belong to tracing and not to the thread: the
// BPF program that records the stack of a resuming thread, its helpers, and the kernel functions
// that run it.
//
// Their number depends on the kernel and on other tracers: with a second program at the same
// tracepoint the kernel adds a frame. Therefore they are recognised by the names of the functions,
// not by their number.
//
//   TracingFrames tracing([&](std::uint64_t address) { return programs.find_symbol(address); });
//   frames = frames.subspan(tracing.count(frames));
//
// Threads: one at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace ctprof::off_cpu {

class TracingFrames {
 public:
  // Returns the name of the kernel function at an address; empty if it is unknown.
  using SymbolLookup = std::function<std::string(std::uint64_t address)>;

  explicit TracingFrames(SymbolLookup find_symbol) : find_symbol_(std::move(find_symbol)) {}

  // Returns how many of these return addresses, from the leaf on, belong to tracing.
  std::size_t count(std::span<const std::uint64_t> kernel);

 private:
  bool is_tracing_address(std::uint64_t address);

  SymbolLookup find_symbol_;
  std::unordered_map<std::uint64_t, bool> cache_;  // by address
};

// Returns whether the function records a stack, or runs a BPF program at a tracepoint or around a
// function.
bool is_tracing_function(std::string_view function);

}  // namespace ctprof::off_cpu

// Finds the frames at the leaf of a kernel stack that belong to tracing and not to the thread: the
// BPF program that records the stack of a resuming thread, its helpers, and the kernel functions
// that run it.
//
// Their number depends on the kernel and on other tracers: with a second program at the same
// tracepoint the kernel adds a frame. Therefore they are recognised by the names of the functions,
// not by their number.
//
//   OwnFrames own([&](std::uint64_t address) { return programs.symbol_of(address); });
//   frames = frames.subspan(own.count(frames));
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

class OwnFrames {
 public:
  // Returns the name of the kernel function at an address; empty if it is unknown.
  using NameOf = std::function<std::string(std::uint64_t address)>;

  explicit OwnFrames(NameOf name_of) : name_of_(std::move(name_of)) {}

  // Returns how many of these return addresses, from the leaf on, belong to tracing.
  std::size_t count(std::span<const std::uint64_t> kernel);

 private:
  bool is_own(std::uint64_t address);

  NameOf name_of_;
  std::unordered_map<std::uint64_t, bool> known_;  // by address
};

// Returns whether the function records a stack, or runs a BPF program at a tracepoint or around a
// function.
bool is_of_tracing(std::string_view function);

}  // namespace ctprof::off_cpu

#include "plugins/off-cpu/tracing_frames.hpp"

#include <algorithm>
#include <array>

namespace ctprof::off_cpu {
namespace {

// Tracing frames are fewer on all kernels; deeper frames of the thread are not looked up.
constexpr std::size_t kMaxTracingFrames = 16;
// Limits the cached addresses of leaf frames. When it is reached, the cache is cleared.
constexpr std::size_t kMaxCachedAddresses = 1 << 16;

// Functions that record the stack, innermost first.
constexpr std::array<std::string_view, 7> kStackFunctions{
    "arch_stack_walk",   "stack_trace_save_tsk", "get_callchain_entry_for_task",
    "__bpf_get_stack",   "bpf_get_stack",        "__bpf_get_task_stack",
    "bpf_get_task_stack"};
// Functions that run a program: its own name and those of trampolines end in numbers.
constexpr std::array<std::string_view, 3> kRunnerPrefixes{"bpf_trace_run", "bpf_trampoline_",
                                                          "__traceiter_"};
constexpr std::string_view kTracepoint = "__bpf_trace_", kProgram = "bpf_prog_";
// Functions of off_cpu.bpf.c, after the program's tag.
constexpr std::string_view kOwnProgram = "_on_resume";

}  // namespace

// A compiler may have made copies of a function, such as "__bpf_get_stack.part.0"; the module name
// follows a blank.
bool is_tracing_function(std::string_view function) {
  function = function.substr(0, function.find_first_of(". "));
  const auto has_prefix = [&](std::string_view part) { return function.starts_with(part); };
  if (std::ranges::find(kStackFunctions, function) != kStackFunctions.end()) return true;
  if (std::ranges::any_of(kRunnerPrefixes, has_prefix) || has_prefix(kTracepoint)) return true;
  return has_prefix(kProgram) && function.find(kOwnProgram) != function.npos;
}

// The address is the return address, which may belong to the next function.
bool TracingFrames::is_tracing_address(std::uint64_t address) {
  if (const auto known = cache_.find(address); known != cache_.end()) return known->second;
  if (cache_.size() >= kMaxCachedAddresses) cache_.clear();
  return cache_[address] = is_tracing_function(find_symbol_(address - 1));
}

std::size_t TracingFrames::count(std::span<const std::uint64_t> kernel) {
  const auto leaf = kernel.first(std::min(kernel.size(), kMaxTracingFrames));
  const auto first =
      std::ranges::find_if(leaf, [&](std::uint64_t at) { return !is_tracing_address(at); });
  return static_cast<std::size_t>(first - leaf.begin());
}

}  // namespace ctprof::off_cpu

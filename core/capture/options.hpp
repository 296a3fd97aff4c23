// What a capture is to read (capture.hpp), and how recorders are to work (records.hpp).

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/capture/mapped_code.hpp"
#include "core/snapshot/stack_names.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// Which recorders are to work, and how. What is 0 is up to the recorder.
struct RecordOptions {
  std::vector<std::string> recorders = {};  // by the name of the plugin or the source
  std::uint32_t frequency_hz = 99;
  std::uint32_t depth = 0;  // most frames of a stack, of kernel and user part together
  std::uint32_t stack_bytes = 0;
  ctprof_user_stack user_kind = CTPROF_USER_COPY;
  std::uint64_t ring_bytes = 0;
  std::uint32_t passes_hz = 9;
  std::uint64_t period_ns = 1'000'000;
  std::uint64_t budget_ppm = 0;
  std::uint64_t cgroup = 0;  // the id of the one that is wanted; 0: all, or it is not known
  bool once = false;
  bool every_stack = false;
  bool all_waits = false;
  // Whether processes that CaptureOptions::pids fork while a window is open are recorded, too: by
  // recorders, and as rows of the window.
  bool inherits = true;
  // For what all of them record in one window; a quarter of the host's is the most.
  std::size_t memory = std::size_t{2} << 30;
  std::chrono::milliseconds code_patience = MappedCode::kPatience;
  NameOptions names = {};
};

// Which metrics are read if the user names none. Fast omits expensive metrics such as smaps and
// heaps, and Meta::left_out lists them; Full includes them, at both ends of a window.
enum class Level { Fast, Full };

struct CaptureOptions {
  std::string rootfs;                               // prefix of /proc, /sys and the cgroup mount
  std::vector<std::uint64_t> pids;                  // only these processes; empty: all
  std::optional<std::vector<std::string>> metrics;  // only these; nullopt: all
  unsigned jobs = 0;                                // worker threads; 0: one per idle processor
  bool hostname = true;                             // whether to record the host's name
  bool window = false;                              // what happens between begin() and end()
  std::string cgroup = {};                          // only processes in or below it; empty: all
  // Of a window: a process that does not run yet, and whose descendants are marked; 0: none.
  std::uint64_t command = 0;
  bool all_cgroups = true;  // those without threads too, unless only some processes are wanted
  // Call stacks: of a window; with `once` also of a snapshot, whose threads are looked at once.
  RecordOptions record = {};
  Level level = Level::Full;  // of what `metrics` does not name
};

}  // namespace ctprof

// Options of a capture (capture.hpp) and of recorders (active_recorders.hpp).

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/capture/mapped_code.hpp"
#include "core/capture/target_files.hpp"
#include "core/snapshot/stack_names.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// Selects recorders and their parameters. 0: the recorder decides.
struct RecordOptions {
  std::vector<std::string> recorders = {};  // names of plugins or sources
  std::uint32_t frequency_hz = 99;
  std::uint32_t max_depth = 0;  // maximum frames per stack, kernel and user part together
  std::uint32_t stack_bytes = 0;
  ctprof_user_stack user_kind = CTPROF_USER_COPY;
  std::uint64_t ring_bytes = 0;
  std::uint32_t passes_hz = 9;
  std::uint64_t period_ns = 1'000'000;
  std::uint64_t budget_ppm = 0;
  std::uint64_t cgroup = 0;  // id of the requested cgroup; 0: all, or unknown
  bool sample_once = false;
  bool records_every_stack = false;
  bool records_all_waits = false;
  // Whether recorders and the rows of the window also include processes that CaptureOptions::pids
  // fork while a window is open.
  bool inherits = true;
  // Bytes for all records of one window; at most a quarter of the host's memory is used.
  std::size_t memory_bytes = std::size_t{2} << 30;
  std::chrono::milliseconds code_timeout = MappedCode::kTimeout;
  std::chrono::milliseconds open_timeout = TargetFiles::kTimeout;  // of files for unwind tables
  NameOptions names = {};
};

// Selects the metrics that are read if the user names none. Fast omits expensive metrics such as
// smaps and heaps, and the metadata lists them; Full includes them at both ends of a window.
enum class Level { Fast, Full };

struct CaptureOptions {
  std::string rootfs;                               // prefix of /proc, /sys and the cgroup mount
  std::vector<std::uint64_t> pids;                  // only these processes; empty: all
  std::optional<std::vector<std::string>> metrics;  // only these; nullopt: all
  unsigned jobs = 0;                                // worker threads; 0: one per idle processor
  bool records_hostname = true;                     // whether to record the host's name
  bool is_window = false;                           // whether begin() and end() enclose a window
  std::string cgroup = {};                          // only processes in or below it; empty: all
  // Windows only: a process that does not run yet and whose descendants are marked; 0: none.
  std::uint64_t command = 0;
  bool all_cgroups = true;  // also those without threads; ignored if processes are selected
  // Call stacks: in a window; with `sample_once`, also with a snapshot, one per thread.
  RecordOptions record = {};
  Level level = Level::Full;  // the metrics to read if `metrics` is nullopt
};

}  // namespace ctprof

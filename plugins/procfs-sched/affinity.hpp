// On which CPUs a thread may run: sched_getaffinity(2), or the line Cpus_allowed_list of its
// status.
//
// The system call is cheaper and needs no file, but understands only our own thread ids; it drops
// offline CPUs, the line keeps them.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ctprof/fields.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::procfs {

using AffinityField = sdk::Fields<vocabulary::cpu_affinity>;

// Reads masks into one buffer that it keeps; what it returns lives until the next call. One per
// worker.
class Affinity {
 public:
  // ThreadGone, or another gap where the status line may know better.
  sdk::Reading<sdk::Words> of_thread(std::uint64_t tid);
  sdk::Reading<sdk::Words> of_list(const sdk::Reading<std::string_view>& list);

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace ctprof::procfs

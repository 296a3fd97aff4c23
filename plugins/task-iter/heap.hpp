// Reads the bytes that each thread allocated and freed through jemalloc, without stopping the
// thread: the pass over all threads (pass.hpp) provides the thread pointers, and the counters are
// read from the running process.
//
// See also: heap_reader.hpp of jemalloc-ptrace for the reading, its finder/ for the location of the
// counters.

#pragma once

#include <cstdint>
#include <span>

#include "ctprof/plugin.hpp"
#include "plugins/jemalloc-ptrace/heap_reader.hpp"
#include "plugins/jemalloc-ptrace/summary.hpp"
#include "plugins/task-iter/columns.hpp"
#include "plugins/task-iter/context.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::task_iter {

class Heap final : public sdk::ThreadSource, private jemalloc::HeapReader {
 public:
  static constexpr const char* kName = "heap";
  static constexpr std::int32_t kRank = 10;  // before ptrace
  static constexpr auto kOffers =
      sdk::offers(vocabulary::allocated_bytes, vocabulary::deallocated_bytes);
  static constexpr auto kReads =
      sdk::reads(kThreadPointer, kCodeStart, kCodeEnd, kStackStart, vocabulary::state);
  static constexpr std::uint32_t kTallies = jemalloc::kTallies;
  static constexpr const char* kSummaryKey = "probe_summary";

  explicit Heap(const sdk::Host& host) : HeapReader(host, host.context<Context>().heap_helper()) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe);
  static void summarise(const sdk::Summary& summary) {
    jemalloc::put_probe_summary(summary, "task-iter", summary.context<Context>().heap_helper());
  }

  void collect(const sdk::Batch& batch) { read(batch); }

 private:
  KnownThread describe_thread(const sdk::Thread& thread, const sdk::Batch& batch) override;
  std::uint64_t get_pointers(std::span<jemalloc::Tracee> tracees) override;
};

}  // namespace ctprof::task_iter

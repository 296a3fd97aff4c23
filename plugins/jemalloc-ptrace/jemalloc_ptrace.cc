// jemalloc-ptrace: the bytes that each thread allocated and freed through jemalloc.
//
// Source: two 64-bit counters that jemalloc keeps in each thread's thread-local storage. The finder
// determines for a process where they are, relative to a thread's pointer; ptrace(2) provides
// thread pointers, process_vm_readv(2) the counters. Needs permission to trace the target.
//
// The plugin does not stop threads that another process has stopped or traces, nor those of ctprof.
//
// Contents: the source, and the plugin's table.
// See also: heap_reader.hpp for the selection of threads and for gaps, thread_pointer_reader.hpp
// for stopping threads, counter_reader.hpp for reading memory, finder/ for the location of
// counters, summary.hpp for tallies, probe.hpp for the probe.

#include "ctprof/plugin.hpp"
#include "plugins/jemalloc-ptrace/heap_reader.hpp"
#include "plugins/jemalloc-ptrace/probe.hpp"
#include "plugins/jemalloc-ptrace/summary.hpp"
#include "plugins/vocabulary/vocabulary.hpp"

namespace ctprof::jemalloc {
namespace {

class Threads final : public sdk::ThreadSource, private HeapReader {
 public:
  static constexpr auto kOffers =
      sdk::offers(vocabulary::allocated_bytes, vocabulary::deallocated_bytes);
  static constexpr auto kReads = sdk::reads(sdk::optional<sdk::kStatText>);
  static constexpr std::uint32_t kTallies = jemalloc::kTallies;
  static constexpr const char* kSummaryKey = "probe_summary";

  explicit Threads(const sdk::Host& host)
      : HeapReader(host, host.context<HeapHelper>()), pointers_(host.proc()) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_host(host, probe); }
  static void summarise(const sdk::Summary& summary) {
    put_probe_summary(summary, "jemalloc-ptrace", summary.context<HeapHelper>());
  }

  void collect(const sdk::Batch& batch) { read(batch); }

 private:
  // Uses the state that the lister read; if another source listed the thread, reads it now.
  KnownThread describe_thread(const sdk::Thread& thread, const sdk::Batch& batch) override {
    const auto listed_stat = batch.input<Threads, sdk::kStatText>().at(thread.row);
    return {.image = listed_stat ? parse_thread_image(listed_stat.value) : read_image(thread)};
  }

  std::uint64_t get_pointers(std::span<Tracee> tracees) override { return pointers_.read(tracees); }

  ThreadPointerReader pointers_;
};

constexpr sdk::Extra kExtra =
    sdk::with_context<HeapHelper>({.derived = sdk::array_of(vocabulary::kJemallocPtraceDerived)});

}  // namespace
}  // namespace ctprof::jemalloc

CTPROF_PLUGIN_WITH("jemalloc-ptrace", "1.0",
                   "Bytes that each thread allocated and freed with jemalloc, read by ptrace.",
                   ctprof::jemalloc::kExtra, ctprof::jemalloc::Threads)

// jemalloc-ptrace: how much each thread obtained from jemalloc, and gave back.
//
// Source: two 64-bit counters that jemalloc keeps in each thread's own storage. Where they are,
// seen from a thread's pointer, the finder tells for a process; thread pointers come by ptrace(2),
// the counters by process_vm_readv(2). Needs the right to trace the target.
//
// A thread that another process has stopped or traces is left alone. So are our own threads.
//
// What is here:   the source, and the plugin's table.
// What is not:    whose counters are read, and what other cells are (heap_reader.cc), stopping
// threads (thread_pointers.cc), reading memory
//                 (counters_read.cc), the counters' place (finder/), tallies' meaning (summary.cc),
//                 what the host lacks (probe.cc).

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
  // As the lister saw it; where it was another source that listed, as it is.
  Known look_at(const sdk::Thread& thread, const sdk::Batch& batch) override {
    const auto listed = batch.input<Threads, sdk::kStatText>().at(thread.row);
    return {.image = listed ? parse_thread_image(listed.value) : image_now(thread)};
  }

  std::uint64_t get_pointers(std::span<Tracee> tracees) override { return pointers_.read(tracees); }

  ThreadPointers pointers_;
};

constexpr sdk::Extra kExtra =
    sdk::with_context<HeapHelper>({.derived = sdk::array_of(vocabulary::kJemallocPtraceDerived)});

}  // namespace
}  // namespace ctprof::jemalloc

CTPROF_PLUGIN_WITH("jemalloc-ptrace", "1.0",
                   "Bytes that each thread got from jemalloc and gave back, by ptrace.",
                   ctprof::jemalloc::kExtra, ctprof::jemalloc::Threads)

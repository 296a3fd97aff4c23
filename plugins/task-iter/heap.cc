#include "plugins/task-iter/heap.hpp"

#include <cerrno>

#include "plugins/jemalloc-ptrace/probe.hpp"
#include "plugins/task-iter/exited_threads.hpp"
#include "plugins/task-iter/probe.hpp"
#include "plugins/task-iter/thread_lister.hpp"

namespace ctprof::task_iter {
namespace {

// Represents a pointer that the kernel hides from ctprof. No user memory has this address.
constexpr std::uint64_t kHiddenPointer = UINT64_MAX;

bool has_exited(char state) { return state == 'Z' || state == 'X'; }

}  // namespace

jemalloc::HeapHelper& Context::heap_helper() {
  const std::lock_guard lock(mutex_);
  if (!heap_helper_) heap_helper_ = std::make_shared<jemalloc::HeapHelper>(host_);
  return *heap_helper_;
}

void Heap::probe(const sdk::Host& host, const sdk::Probe& probe) {
  if (!probe_pointers(host, probe)) return;
  jemalloc::probe_permissions(host, probe);
  host.context<Context>().set_before_pointers(
      [](Context& context) { context.heap_helper().prepare(); });
}

// Collects the identity of a thread. The memory of a stopped thread can also be read, so the state
// only shows whether the thread has memory.
jemalloc::HeapReader::KnownThread Heap::describe_thread(const sdk::Thread& thread,
                                                        const sdk::Batch& batch) {
  const auto pointer = batch.input<Heap, kThreadPointer>().at(thread.row);
  if (pointer.gap == Gap::Denied) return {.image = read_image(thread), .pointer = kHiddenPointer};
  const auto state = batch.input<Heap, vocabulary::state>().at(thread.row);
  jemalloc::ThreadImage image;
  image.state = state && !state.value.empty() && has_exited(state.value.front()) ? 'Z' : 'S';
  image.is_kernel_thread = pointer.gap == Gap::NotApplicable;
  image.code_start = batch.input<Heap, kCodeStart>().at(thread.row).value;
  image.code_end = batch.input<Heap, kCodeEnd>().at(thread.row).value;
  image.stack_start = batch.input<Heap, kStackStart>().at(thread.row).value;
  return {.image = image, .pointer = pointer.value};
}

std::uint64_t Heap::get_pointers(std::span<jemalloc::Tracee> tracees) {
  for (jemalloc::Tracee& tracee : tracees)
    if (tracee.pointer == kHiddenPointer) tracee.outcome = {jemalloc::ProbeStep::GetRegset, EPERM};
  return 0;
}

}  // namespace ctprof::task_iter

// The plugin's table with this source; task_iter.cc has the table without it.
CTPROF_PLUGIN_WITH("task-iter", "1.0",
                   "Every thread and most of its metrics, in one pass of a BPF program over the "
                   "kernel's list of threads; reads heaps without stopping threads.",
                   ctprof::task_iter::kExtra, ctprof::task_iter::ThreadLister,
                   ctprof::task_iter::ExitedThreads, ctprof::task_iter::Heap)

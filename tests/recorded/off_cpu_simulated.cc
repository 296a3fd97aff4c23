#include "tests/recorded/off_cpu_simulated.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace ctprof::recorded {
namespace {

constexpr std::uint64_t kBeforeFirstNs = 10'000'000;
// The constants of programs.cc.
constexpr std::uint64_t kEdgeDelayNs = 500'000;
constexpr std::uint64_t kMaxReadNs = 300'000, kMaxEdgeOffsetNs = 500;

void take_record(void* take, const void* record, unsigned long long size) {
  (*static_cast<const off_cpu::RecordCallback*>(take))(
      {static_cast<const std::byte*>(record), size});
}

void* to_context(const off_cpu::RecordCallback& take) {
  return const_cast<off_cpu::RecordCallback*>(&take);
}

}  // namespace

SimulatedInput::SimulatedInput(std::vector<const sched_event*> events,
                               const kernel_settings& settings)
    : events_(std::move(events)),
      now_ns_(events_.front()->at - kBeforeFirstNs),
      random_(settings.seed + 1) {
  kernel_reset(&settings);
  kernel_set_clock(now_ns_);
  add_first_tasks();
}

// The symbols of Linux 6.18. The last one exists if two programs are attached to the tracepoint.
std::string SimulatedInput::find_symbol(std::uint64_t address) {
  static const std::vector<std::string> kTracing{"__bpf_get_task_stack", "bpf_get_task_stack",
                                                 "bpf_prog_5e2f7a77a3f4a0b1_on_resume",
                                                 "bpf_trace_run1", "__traceiter_sched_exit_tp"};
  const std::uint64_t number = address - KERNEL_TRACING;
  return number < kTracing.size() ? kTracing[number] : "futex_wait_queue";
}

// Adds the tasks that exist before the first event: those without an earlier event that creates
// them.
void SimulatedInput::add_first_tasks() {
  std::set<std::uint32_t> known_tids;
  for (const sched_event* event : events_)
    for (const sched_task* task : {&event->previous, &event->next}) {
      if (task->tid == 0 || !known_tids.insert(task->tid).second || event->kind == SCHED_BIRTH)
        continue;
      const bool sleeps = event->kind == SCHED_WAKEUP;
      if (!sleeps && task != &event->previous)
        throw std::runtime_error("the trace begins with a thread in a queue");
      tasks_[task->tid] = kernel_new_task(task, sleeps ? KERNEL_SLEEPS : KERNEL_RUNS);
    }
}

kernel_task* SimulatedInput::task_of(const sched_task& task) const {
  return task.tid == 0 ? nullptr : tasks_.at(task.tid);
}

void SimulatedInput::apply_event(const sched_event& event) {
  switch (event.kind) {
    case SCHED_SWITCH: return kernel_switch(&event, task_of(event.previous), task_of(event.next));
    case SCHED_WAKEUP: return kernel_wakeup(&event, task_of(event.next));
    case SCHED_BIRTH:
      tasks_[event.next.tid] = kernel_new_task(&event.next, KERNEL_FORKED);
      return kernel_wakeup_new(&event, task_of(event.next));
    case SCHED_EXEC:
      if (event.why != event.next.tid) std::swap(tasks_.at(event.why), tasks_.at(event.next.tid));
      return kernel_exec(&event, task_of(event.next));
    default: return;
  }
}

void SimulatedInput::advance_to(std::uint64_t ns) {
  for (; next_ < events_.size() && events_[next_]->at <= ns; ++next_) apply_event(*events_[next_]);
  now_ns_ = std::max(now_ns_, ns);
  kernel_set_clock(now_ns_);
}

void SimulatedInput::advance_to_edge_near_switch() {
  for (std::size_t i = next_; i < events_.size(); ++i) {
    if (events_[i]->kind != SCHED_SWITCH || events_[i]->previous.tid == 0) continue;
    if (events_[i]->at < now_ns_ + kEdgeDelayNs) continue;
    return advance_to(events_[i]->at + random_() % kMaxEdgeOffsetNs - kEdgeDelayNs);
  }
}

void SimulatedInput::visit_threads(off_pass_purpose what, const off_cpu::RecordCallback& take) {
  advance_to(now_ns_ + random_() % kMaxReadNs);
  kernel_run_task_iterator(what, take_record, to_context(take));
}

std::uint64_t SimulatedInput::open_window(std::uint32_t number) {
  const std::uint64_t edge = now_ns_ + kEdgeDelayNs;
  kernel_set_window(number, edge);
  edges_.push_back(edge);
  advance_to(edge);
  return edge;
}

bool SimulatedInput::read_stacks(const off_cpu::RecordCallback& take) {
  kernel_read_stacks(take_record, to_context(take));
  return true;
}

void SimulatedInput::read_other_records(const off_cpu::RecordCallback& take) {
  kernel_read_other_records(take_record, to_context(take));
}

off_cpu::Counters SimulatedInput::counters() const {
  off_cpu::Counters counters{};
  for (std::uint32_t i = 0; i < OFF_COUNTERS; ++i) counters[i] = kernel_counter(i);
  return counters;
}

}  // namespace ctprof::recorded

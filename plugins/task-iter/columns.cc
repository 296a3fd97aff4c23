#include "plugins/task-iter/columns.hpp"

namespace ctprof::task_iter {

sdk::Figure<sdk::IdU64> start_ticks(const record& task, const Facts& facts, Scratch&) {
  return task.start_boottime / facts.ns_per_tick;
}

sdk::Figure<sdk::Flag> is_kernel(const record& task, const Facts&, Scratch&) {
  return is_kernel_thread(task);
}

sdk::Figure<sdk::CategoricalString> policy(const record& task, const Facts&, Scratch& scratch) {
  return policy_name(task.policy, scratch.policy);
}

sdk::ReadingOf<sdk::CpuSet> allowed_cpus(const record& task, const Facts& facts, Scratch& scratch) {
  return cpus(task, facts.online, scratch.words);
}

sdk::ReadingOf<sdk::Flag> is_extensible(const record& task, const Facts& facts, Scratch&) {
  return ext_enabled(task, facts.extensible_class);
}

sdk::ReadingOf<sdk::PeakBytes> peak_rss(const record& task, const Facts& facts, Scratch&) {
  return hiwater_rss_bytes(task, facts.page);
}

sdk::ReadingOf<sdk::PeakBytes> peak_vm(const record& task, const Facts& facts, Scratch&) {
  return hiwater_vm_bytes(task, facts.page);
}

Columns::Columns(const sdk::Batch& batch)
    : identity_(batch),
      parent_(batch),
      moments_(batch),
      always_(batch),
      times_(batch),
      affinity_(batch),
      delays_(batch),
      statistics_(batch) {}

void Columns::put(std::uint32_t row, const record& task, const Facts& facts) {
  identity_.put(row, task, facts, scratch_);
  parent_.put(row, task);
  moments_.put(row, task);
  always_.put(row, task, facts, scratch_);
  times_.put(row, cpu_times(task), facts);
  if (affinity_) affinity_.put(row, task, facts, scratch_);
  // The kernel allocates them when a thread is created while the switch is on, and never later.
  (task.of & RECORD_OF_DELAYS) != 0 ? delays_.put(row, task)
                                    : delays_.fail(row, Gap::PredatesSwitch);
  if (has(task, RECORD_HAS_STATISTICS)) statistics_.put(row, task);
}

void Columns::fail(std::uint32_t row, Gap gap) {
  moments_.fail(row, gap == Gap::Unseen ? Gap::Denied : gap);
  always_.fail(row, gap);
  times_.fail(row, gap);
  affinity_.fail(row, gap);
  delays_.fail(row, gap);
  statistics_.fail(row, gap);
}

}  // namespace ctprof::task_iter

#include "plugins/task-iter/columns.hpp"

namespace ctprof::task_iter {

sdk::Figure<sdk::IdU64> compute_start_ticks(const record& task, const HostFacts& facts,
                                            ScratchBuffers&) {
  return task.start_boottime / facts.ns_per_tick;
}

sdk::Figure<sdk::Flag> is_kernel(const record& task, const HostFacts&, ScratchBuffers&) {
  return is_kernel_thread(task);
}

sdk::Figure<sdk::CategoricalString> find_policy_name(const record& task, const HostFacts&,
                                                     ScratchBuffers& scratch) {
  return policy_name(task.policy, scratch.policy);
}

sdk::ReadingOf<sdk::CpuSet> find_allowed_cpus(const record& task, const HostFacts& facts,
                                              ScratchBuffers& scratch) {
  return compute_online_cpu_set(task, facts.online_cpus, scratch.words);
}

sdk::ReadingOf<sdk::Flag> is_extensible(const record& task, const HostFacts& facts,
                                        ScratchBuffers&) {
  return is_ext_enabled(task, facts.extensible_class);
}

sdk::ReadingOf<sdk::PeakBytes> compute_peak_rss(const record& task, const HostFacts& facts,
                                                ScratchBuffers&) {
  return hiwater_rss_bytes(task, facts.page_size);
}

sdk::ReadingOf<sdk::PeakBytes> compute_peak_vm(const record& task, const HostFacts& facts,
                                               ScratchBuffers&) {
  return hiwater_vm_bytes(task, facts.page_size);
}

Columns::Columns(const sdk::Batch& batch)
    : identity_(batch),
      parent_(batch),
      timestamps_(batch),
      always_(batch),
      times_(batch),
      affinity_(batch),
      delays_(batch),
      statistics_(batch) {}

void Columns::put(std::uint32_t row, const record& task, const HostFacts& facts) {
  identity_.put(row, task, facts, scratch_);
  parent_.put(row, task);
  timestamps_.put(row, task);
  always_.put(row, task, facts, scratch_);
  times_.put(row, cpu_times(task), facts);
  if (affinity_) affinity_.put(row, task, facts, scratch_);
  // The kernel allocates them when a thread is created while the switch is on, and never later.
  (task.properties & RECORD_OF_DELAYS) != 0 ? delays_.put(row, task)
                                            : delays_.fail(row, Gap::PredatesSwitch);
  if (has_feature(task, RECORD_HAS_STATISTICS)) statistics_.put(row, task);
}

void Columns::fail(std::uint32_t row, Gap gap) {
  timestamps_.fail(row, gap == Gap::Unseen ? Gap::Denied : gap);
  always_.fail(row, gap);
  times_.fail(row, gap);
  affinity_.fail(row, gap);
  delays_.fail(row, gap);
  statistics_.fail(row, gap);
}

}  // namespace ctprof::task_iter

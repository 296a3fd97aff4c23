#include "plugins/task-iter/columns.hpp"

#include "plugins/shared/policy.hpp"

namespace ctprof::task_iter {
namespace {

// As the kernel counts them, with a sign.
constexpr int kFirstFairPriority = 100;
constexpr int kPriorityOfNiceZero = 120;

}  // namespace

Columns::Columns(const sdk::Batch& batch)
    : identity_(batch),
      scheduling_(batch),
      slice_(batch),
      affinity_(batch),
      extensible_(batch),
      counters_(batch),
      times_(batch),
      waits_(batch),
      wait_extremes_(batch),
      io_(batch),
      memory_(batch),
      delays_(batch),
      copies_(batch),
      interrupts_(batch),
      delay_extremes_(batch),
      interrupt_extremes_(batch),
      wakeups_(batch),
      statistics_(batch),
      forceidle_(batch) {}

void Columns::put(std::uint32_t row, const record& task, const Facts& facts) {
  identity_.put(row, task.tgid, task.tid, task.start_boottime / facts.ns_per_tick);
  put_scheduling(row, task, facts);
  put_times(row, task, facts);
  io_.put(row, task.rchar, task.wchar, task.syscr, task.syscw, task.read_bytes, task.write_bytes,
          task.cancelled_write_bytes);
  memory_.put(row, hiwater_rss_bytes(task, facts.page), hiwater_vm_bytes(task, facts.page));
  // The kernel makes room for them when a thread is born while the switch is on, and never later.
  (task.of & RECORD_OF_DELAYS) != 0 ? put_delays(row, task) : fail_delays(row, Gap::PredatesSwitch);
  if (has(task, RECORD_HAS_STATISTICS)) put_statistics(row, task);
}

void Columns::put_scheduling(std::uint32_t row, const record& task, const Facts& facts) {
  PolicyRoom room;
  scheduling_.put(row, policy_name(task.policy, room), task.static_prio - kPriorityOfNiceZero,
                  task.prio - kFirstFairPriority, task.rt_priority, task.cpu, state_letter(task),
                  task.nr_migrations);
  slice_.put(row, fair_slice(task));
  if (affinity_) affinity_.put(row, cpus(task, facts.online, words_));
  extensible_.put(row, ext_enabled(task, facts.extensible_class));
}

void Columns::put_times(std::uint32_t row, const record& task, const Facts& facts) {
  counters_.put(row, nr_threads(task), task.min_flt, task.maj_flt, task.nvcsw, task.nivcsw,
                task.sum_exec_runtime);
  const CpuTimes times = cpu_times(task);
  times_.put(row, times.user / facts.ns_per_tick, times.system / facts.ns_per_tick);
  waits_.put(row, task.run_delay, task.pcount, task.pcount, task.run_delay);
  wait_extremes_.put(row, task.max_run_delay, task.min_run_delay);
}

void Columns::put_delays(std::uint32_t row, const record& task) {
  const auto& of = task.delays;
  delays_.put(row, of[RECORD_BLKIO].count, of[RECORD_BLKIO].total, of[RECORD_SWAPIN].count,
              of[RECORD_SWAPIN].total, of[RECORD_FREEPAGES].count, of[RECORD_FREEPAGES].total,
              of[RECORD_THRASHING].count, of[RECORD_THRASHING].total, of[RECORD_COMPACT].count,
              of[RECORD_COMPACT].total);
  copies_.put(row, of[RECORD_WPCOPY].count, of[RECORD_WPCOPY].total);
  interrupts_.put(row, of[RECORD_IRQ].count, of[RECORD_IRQ].total);
  delay_extremes_.put(row, of[RECORD_BLKIO].max, of[RECORD_BLKIO].min, of[RECORD_SWAPIN].max,
                      of[RECORD_SWAPIN].min, of[RECORD_FREEPAGES].max, of[RECORD_FREEPAGES].min,
                      of[RECORD_THRASHING].max, of[RECORD_THRASHING].min, of[RECORD_COMPACT].max,
                      of[RECORD_COMPACT].min, of[RECORD_WPCOPY].max, of[RECORD_WPCOPY].min);
  interrupt_extremes_.put(row, of[RECORD_IRQ].max, of[RECORD_IRQ].min);
}

void Columns::fail_delays(std::uint32_t row, Gap gap) {
  delays_.fail(row, gap);
  copies_.fail(row, gap);
  interrupts_.fail(row, gap);
  delay_extremes_.fail(row, gap);
  interrupt_extremes_.fail(row, gap);
}

void Columns::fail(std::uint32_t row, Gap gap) {
  const auto fail = [&](auto&... groups) { (groups.fail(row, gap), ...); };
  fail(scheduling_, slice_, affinity_, extensible_, counters_, times_, waits_, wait_extremes_, io_,
       memory_);
  fail(wakeups_, statistics_, forceidle_);
  fail_delays(row, gap);
}

void Columns::put_statistics(std::uint32_t row, const record& task) {
  wakeups_.put(row, task.nr_wakeups, task.nr_wakeups_local, task.nr_wakeups_remote,
               task.nr_wakeups_sync, task.nr_wakeups_migrate, task.nr_wakeups_affine,
               task.nr_wakeups_affine_attempts, task.nr_forced_migrations,
               task.nr_failed_migrations_affine, task.nr_failed_migrations_running,
               task.nr_failed_migrations_hot);
  statistics_.put(row, unsigned_ns(task.wait_sum), task.wait_count, unsigned_ns(task.wait_max),
                  voluntary_sleep(task), unsigned_ns(task.sleep_max),
                  unsigned_ns(task.sum_block_runtime), unsigned_ns(task.block_max),
                  unsigned_ns(task.iowait_sum), task.iowait_count, unsigned_ns(task.exec_max),
                  unsigned_ns(task.slice_max));
  forceidle_.put(row, unsigned_ns(task.core_forceidle_sum));
}

}  // namespace ctprof::task_iter

// Tests which column of task-iter is filled from which member of a record, with a record whose
// values all differ.

#include <boost/test/unit_test.hpp>

#include "plugins/task-iter/columns.hpp"
#include "tests/unit/support/cells_by_name.hpp"

namespace task_iter_columns_test {
using namespace ctprof::task_iter;

namespace {

// Returns consecutive numbers from 100 on.
struct NextNumber {
  std::uint64_t value = 100;
  template <class T>
  void operator()(T& member) {
    member = static_cast<T>(value++);
  }
};

void fill_scheduling(record& task) {
  task.tgid = task.tid = 7;
  task.parent = 6;
  task.start_boottime = 30'000'000;
  task.state = 2;
  task.policy = 0;
  task.static_prio = 125;
  task.prio = 111;
  task.rt_priority = 12;
  task.cpu = 13;
  task.slice = 14;
  task.nr_threads = 15;
  task.sum_exec_runtime = 900'000'000;
  task.prev_utime = 500'000'000;
  task.prev_stime = 400'000'000;
  task.cpus[0] = 0b110;
}

void fill_numbers(record& task, NextNumber& next) {
  for (auto member : {&record::min_flt, &record::maj_flt, &record::nvcsw, &record::nivcsw,
                      &record::nr_migrations, &record::pcount})
    next(task.*member);
  next(task.run_delay);
  for (auto member : {&record::max_run_delay, &record::min_run_delay}) next(task.*member);
  for (auto member : {&record::rchar, &record::wchar}) next(task.*member);
  for (auto member : {&record::syscr, &record::syscw}) next(task.*member);
  for (auto member : {&record::read_bytes, &record::write_bytes, &record::cancelled_write_bytes})
    next(task.*member);
  for (record_delay& delay : task.delays) {
    next(delay.count), next(delay.total), next(delay.max), next(delay.min);
  }
}

void fill_statistics(record& task, NextNumber& next) {
  for (auto member :
       {&record::nr_wakeups, &record::nr_wakeups_local, &record::nr_wakeups_remote,
        &record::nr_wakeups_sync, &record::nr_wakeups_migrate, &record::nr_wakeups_affine,
        &record::nr_wakeups_affine_attempts, &record::nr_forced_migrations,
        &record::nr_failed_migrations_affine, &record::nr_failed_migrations_running,
        &record::nr_failed_migrations_hot, &record::wait_count, &record::iowait_count})
    next(task.*member);
  for (auto member : {&record::wait_sum, &record::sum_block_runtime, &record::iowait_sum,
                      &record::core_forceidle_sum})
    next(task.*member);
  for (auto member : {&record::wait_max, &record::sleep_max, &record::block_max, &record::exec_max,
                      &record::slice_max})
    next(task.*member);
  task.sum_sleep_runtime = 1000;
}

record make_distinct_record() {
  record task{};
  NextNumber next;
  task.features = RECORD_HAS_STATISTICS;
  task.properties = RECORD_OF_DELAYS | RECORD_OF_MEMORY;
  fill_scheduling(task);
  fill_numbers(task, next);
  fill_statistics(task, next);
  task.hiwater_rss = 21;
  task.hiwater_vm = 22;
  task.now_boottime = 40'000'000;
  task.run_in_progress = 23;
  task.wait_in_progress = 24;
  return task;
}

// Returns the expected cells by name, numbered in order.
CellTexts expected_cells() {
  CellTexts expected;
  std::uint64_t value = 100;
  for (const char* name :
       {"minflt", "majflt", "voluntary_csw", "nonvoluntary_csw", "nr_migrations", "timeslices",
        "wait_time_ns", "cpu_delay_max_ns", "cpu_delay_min_ns", "rchar", "wchar", "syscr", "syscw",
        "read_bytes", "write_bytes", "cancelled_write_bytes"})
    expected[name] = std::to_string(value++);
  for (const std::string kind :
       {"blkio", "swapin", "freepages", "thrashing", "compact", "wpcopy", "irq"})
    for (const char* figure : {"_count", "_total_ns", "_max_ns", "_min_ns"})
      expected[kind + "_delay" + figure] = std::to_string(value++);
  for (const char* name : {"nr_wakeups",
                           "nr_wakeups_local",
                           "nr_wakeups_remote",
                           "nr_wakeups_sync",
                           "nr_wakeups_migrate",
                           "nr_wakeups_affine",
                           "nr_wakeups_affine_attempts",
                           "nr_forced_migrations",
                           "nr_failed_migrations_affine",
                           "nr_failed_migrations_running",
                           "nr_failed_migrations_hot",
                           "wait_count",
                           "iowait_count",
                           "wait_sum",
                           "block_sum",
                           "iowait_sum",
                           "core_forceidle_sum",
                           "wait_max",
                           "sleep_max",
                           "block_max",
                           "exec_max",
                           "slice_max"})
    expected[name] = std::to_string(value++);
  expected["cpu_delay_count"] = expected["timeslices"];
  expected["cpu_delay_total_ns"] = expected["wait_time_ns"];
  expected["voluntary_sleep_ns"] = std::to_string(1000 - std::stoul(expected["block_sum"]));
  return expected;
}

CellTexts expected_of_record() {
  CellTexts expected = expected_cells();
  expected.merge(CellTexts{{"tgid", "7"},
                           {"tid", "7"},
                           {"start_time_clock_ticks", "3"},
                           {"parent", "6"},
                           {"kernel_thread", "false"},
                           {"policy", "SCHED_OTHER"},
                           {"nice", "5"},
                           {"priority", "11"},
                           {"rt_priority", "12"},
                           {"processor", "13"},
                           {"state", "D"},
                           {"fair_slice_ns", "14"},
                           {"nr_threads", "15"},
                           {"run_time_ns", "900000000"},
                           {"utime_clock_ticks", "50"},
                           {"stime_clock_ticks", "40"},
                           {"cpu_affinity", "2"},
                           {"ext_enabled", "false"},
                           {"hiwater_rss_bytes", "86016"},
                           {"hiwater_vm_bytes", "90112"},
                           {"read_at_ns", "40000000"},
                           {"born_at_ns", "30000000"},
                           {"run_in_progress_ns", "23"},
                           {"wait_in_progress_ns", "24"}});
  return expected;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(task_iter_columns_test)

BOOST_AUTO_TEST_CASE(fills_every_column_from_its_member) {
  const record task = make_distinct_record();
  HostFacts facts;
  facts.online_cpus = {0b011};
  const auto found = fill_one_row<Columns>([&](Columns& columns) { columns.put(0, task, facts); });
  const CellTexts expected = expected_of_record();
  for (const auto& [name, value] : expected) BOOST_TEST(found.at(name) == value, name);
  BOOST_TEST(found.size() == expected.size());
}

BOOST_AUTO_TEST_CASE(fills_places_by_name) {
  record task{};
  task.properties = RECORD_OF_MEMORY;
  task.thread_pointer = 1;
  task.start_code = 2;
  task.end_code = 3;
  task.start_stack = 4;
  const auto fill = [&](MemoryAddresses& places) { places.put(0, task); };
  BOOST_TEST(
      (fill_one_row<MemoryAddresses>(fill) ==
       CellTexts{
           {"thread_pointer", "1"}, {"code_start", "2"}, {"code_end", "3"}, {"stack_start", "4"}}));
  task.properties = 0;
  for (const auto& [name, cell] : fill_one_row<MemoryAddresses>(fill))
    BOOST_TEST(cell == "NotApplicable", name);
}

// If a pass did not find a thread, only identity cells have values.
BOOST_AUTO_TEST_CASE(cells_except_identity_share_one_gap) {
  const auto found =
      fill_one_row<Columns>([](Columns& columns) { columns.fail(0, ctprof::Gap::Unseen); });
  for (const auto& [name, cell] : found) {
    const bool identity = name == "tgid" || name == "tid" || name == "start_time_clock_ticks" ||
                          name == "parent" || name == "kernel_thread";
    const bool is_time = name == "read_at_ns" || name == "born_at_ns";  // measured by ctprof
    BOOST_TEST(cell == (identity ? "Untouched" : is_time ? "Denied" : "Unseen"), name);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace task_iter_columns_test

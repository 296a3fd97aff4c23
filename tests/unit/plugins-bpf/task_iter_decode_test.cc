// Tests decoding a thread's record, which repeats computations of the kernel.

#include <boost/test/unit_test.hpp>

#include <cstring>

#include "plugins/shared/hidden_threads.hpp"
#include "plugins/task-iter/decode.hpp"
#include "plugins/task-iter/names.hpp"

namespace task_iter_decode_test {
using namespace ctprof;
using namespace ctprof::task_iter;
using ctprof::Gap;

namespace {

record thread_of_state(std::uint32_t state, std::uint32_t exit_state = 0) {
  record task{};
  task.state = state;
  task.exit_state = exit_state;
  return task;
}

record thread_of_times(std::uint64_t user, std::uint64_t system, std::uint64_t ran) {
  record task{};
  task.utime = user;
  task.stime = system;
  task.sum_exec_runtime = ran;
  return task;
}

void check_times(const record& task, std::uint64_t user, std::uint64_t system) {
  const CpuTimes times = cpu_times(task);
  BOOST_TEST(times.user == user);
  BOOST_TEST(times.system == system);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(task_iter_decode_test)

// The state letters of /proc/<tid>/status, by the bits TASK_* and EXIT_*.
BOOST_AUTO_TEST_CASE(states_match_the_letters_of_proc) {
  BOOST_TEST(find_state_letter(thread_of_state(0)).value == "R");
  BOOST_TEST(find_state_letter(thread_of_state(1)).value == "S");
  BOOST_TEST(find_state_letter(thread_of_state(2)).value == "D");
  // A stopped thread, which SIGKILL wakes.
  BOOST_TEST(find_state_letter(thread_of_state(0x0104)).value == "T");
  BOOST_TEST(find_state_letter(thread_of_state(0x0108)).value == "t");
  BOOST_TEST(find_state_letter(thread_of_state(0x80, 0x10)).value == "X");
  BOOST_TEST(find_state_letter(thread_of_state(0x80, 0x20)).value == "Z");
  BOOST_TEST(find_state_letter(thread_of_state(0x40)).value == "P");
  BOOST_TEST(find_state_letter(thread_of_state(0x0402)).value == "I");  // TASK_IDLE
  BOOST_TEST(find_state_letter(thread_of_state(0x0102)).value == "D");  // killable
  BOOST_TEST(find_state_letter(thread_of_state(0x1000)).value == "D");  // waits for a sleeping lock
  BOOST_TEST(find_state_letter(thread_of_state(0x8000)).value == "D");  // frozen
  BOOST_TEST(find_state_letter(thread_of_state(0x2001)).value == "S");  // may be frozen
}

BOOST_AUTO_TEST_CASE(user_and_system_time_add_up_to_the_run_time) {
  check_times(thread_of_times(30, 10, 400), 300, 100);
  check_times(thread_of_times(30, 0, 400), 400, 0);
  check_times(thread_of_times(0, 10, 400), 0, 400);
  check_times(thread_of_times(0, 0, 400), 400, 0);
  check_times(thread_of_times(0, 0, 0), 0, 0);
  const std::uint64_t year = 31'536'000'000'000'000;  // products of two exceed 64 bits
  check_times(thread_of_times(year, year, 2 * year), year, year);
}

BOOST_AUTO_TEST_CASE(times_never_decrease) {
  record task = thread_of_times(30, 10, 400);
  task.prev_utime = 310;
  task.prev_stime = 80;
  check_times(task, 310, 90);
  task.prev_utime = 200;
  task.prev_stime = 150;
  check_times(task, 250, 150);
  task.prev_utime = 350;
  task.prev_stime = 60;  // the sum exceeds the run time, so these times are reported again
  check_times(task, 350, 60);
}

BOOST_AUTO_TEST_CASE(counts_only_online_cpus) {
  record task{};
  task.cpus[0] = 0b1111;
  task.cpus[1] = 1;
  const std::vector<std::uint64_t> online{0b0110, 0};
  std::vector<std::uint64_t> words;
  const auto found = compute_online_cpu_set(task, online, words);
  BOOST_REQUIRE(found);
  BOOST_TEST(found.value.value.size() == 1u);
  BOOST_TEST(found.value.value[0] == 0b0110u);
  task.cpus[0] = 0b1000;
  BOOST_CHECK(compute_online_cpu_set(task, online, words).gap == Gap::Malformed);
}

BOOST_AUTO_TEST_CASE(metrics_that_do_not_apply_are_gaps) {
  record task{};
  task.tgid = 7;
  task.tid = 8;
  task.policy = 1;
  BOOST_CHECK(nr_threads(task).gap == Gap::NotApplicable);
  BOOST_CHECK(fair_slice(task).gap == Gap::NotApplicable);
  BOOST_CHECK(hiwater_rss_bytes(task, 4096).gap == Gap::NotApplicable);
  BOOST_CHECK(hiwater_vm_bytes(task, 4096).gap == Gap::NotApplicable);
}

BOOST_AUTO_TEST_CASE(recognizes_the_class_of_bpf_schedulers) {
  record task{};
  task.sched_class = 0xffffffff81234560;
  BOOST_TEST(is_ext_enabled(task, task.sched_class).value);
  BOOST_TEST(!is_ext_enabled(task, task.sched_class + 0x100).value);
  BOOST_TEST(!is_ext_enabled(task, std::uint64_t{0}).value);
  BOOST_CHECK(is_ext_enabled(task, Gap::Denied).gap == Gap::Denied);
  task.sched_class = 0;
  BOOST_TEST(!is_ext_enabled(task, std::uint64_t{0}).value);
}

BOOST_AUTO_TEST_CASE(peaks_are_at_least_the_current_value) {
  record task{};
  task.properties = RECORD_OF_MEMORY;
  task.hiwater_rss = 5;
  task.rss = 7;
  task.hiwater_vm = 9;
  task.total_vm = 8;
  BOOST_TEST(hiwater_rss_bytes(task, 4096).value == 7u * 4096);
  BOOST_TEST(hiwater_vm_bytes(task, 4096).value == 9u * 4096);
}

BOOST_AUTO_TEST_CASE(negative_times_become_zero) {
  record task{};
  BOOST_TEST(clamp_negative_ns(-5) == 0u);
  task.sum_sleep_runtime = 10;
  task.sum_block_runtime = -4;
  BOOST_TEST(voluntary_sleep(task) == 10u);
  task.sum_block_runtime = 11;
  BOOST_TEST(voluntary_sleep(task) == 0u);
}

BOOST_AUTO_TEST_CASE(names_end_with_their_buffer) {
  record task{};
  std::memcpy(task.comm, "sixteen_letters_", sizeof task.comm);
  BOOST_TEST(short_name(task) == "sixteen_letters_");
  task.comm[3] = 0;
  BOOST_TEST(short_name(task) == "six");
}

BOOST_AUTO_TEST_CASE(finds_the_line_of_the_unified_hierarchy) {
  BOOST_TEST(find_unified_path("4:memory:/old\n0::/a b\n").value == "/a b");
  BOOST_CHECK(find_unified_path("4:memory:/old\n").gap == Gap::Unsupported);
}

BOOST_AUTO_TEST_CASE(an_unseen_thread_has_only_its_identity) {
  HiddenThread thread{};
  BOOST_TEST(parse_hidden_thread(
      "7 (a b) S (c) S 1 7 7 0 -1 4194560 120 0 1 0 3 4 0 0 20 0 1 0 4711 1 2\n", thread));
  BOOST_TEST(thread.name == "a b) S (c");
  BOOST_TEST(thread.start_ticks == 4711u);
  BOOST_TEST(thread.parent == 1u);
  BOOST_TEST(!thread.is_kernel_thread);
  BOOST_TEST(!parse_hidden_thread("7 (cut) S 1 7", thread));
  BOOST_TEST(!parse_hidden_thread("", thread));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace task_iter_decode_test

// Tests findings about single threads and processes, and similar states that are not findings.

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/unit/render/sign_windows.hpp"

namespace ctprof::sign_findings_test {
namespace {

using namespace sign_windows;

const std::vector<Row> kShortWaits = threads(3, {.cpu = 2 * kSecond, .voluntary_switches = 20'000}),
                       kTail = [] {
                         std::vector<Row> all = threads(5, {.cpu = kSecond, .waited = 100 * kMs});
                         all[3].waited = 5 * kSecond;
                         return all;
                       }();

// Returns the findings about three threads with short waits.
std::string text_of_stacks(const hand_made::StackValue& stacks,
                           const MetricDef& def = kWaitingStacks) {
  return text_of(report_of(window_with_stacks(kShortWaits, stacks, def)));
}

std::vector<Row> make_zombies(std::size_t count) {
  std::vector<Row> all;
  for (std::size_t at = 1; at <= count; ++at)
    all.push_back({.process = at, .name = "child", .thread = "child", .after = "Z"});
  return all;
}

BOOST_AUTO_TEST_SUITE(sign_findings_test)

BOOST_AUTO_TEST_CASE(short_waits_without_stacks_have_no_known_cause) {
  BOOST_TEST(
      text_of(kShortWaits) ==
      "1 server was blocked 6.00K times per second, 0.40 ms each, in 3 threads; only stacks "
      "show whether for a lock, a timer or input\n    ctprof record --recorders waits -d 5s\n");
  std::vector<Row> all = kShortWaits;
  for (const std::uint64_t process : {2, 3})
    for (Row row : kShortWaits) {
      row.process = process;
      row.name = process == 2 ? "reader" : "writer";
      row.voluntary_switches /= process;
      all.push_back(row);
    }
  BOOST_TEST(contains(text_of(all), "or input; so were reader and 1 other group\n"), text_of(all));
  // 750 per second
  BOOST_TEST(text_of(threads(3, {.cpu = 2 * kSecond, .voluntary_switches = 2'500})) == "");
}

// A thread that holds the lock while it syncs a file makes the others wait for the disk.
BOOST_AUTO_TEST_CASE(contention_of_threads_that_sync_names_the_disk) {
  const auto text_with_sync = [](const char* call, std::uint64_t ns) {
    return text_of_stacks(
        {{"main;pthread_mutex_lock;__x64_sys_futex;futex_wait_queue", 5 * kSecond},
         {std::string("main;") + call, ns}});
  };
  const std::string disk =
      "; one or another of them was blocked for 3.0 s until the disk had "
      "written (fsync or a similar call)";
  for (const char* call : {"fsync;__x64_sys_fsync;do_fsync;submit_bio_wait",
                           "fdatasync;__arm64_sys_fdatasync;do_fsync;folio_wait_bit"})
    BOOST_TEST(contains(text_with_sync(call, kSecond), disk), text_with_sync(call, kSecond));
  for (const char* call :
       {"nap;__x64_sys_clock_nanosleep;hrtimer_nanosleep", "fsync;__x64_sys_futex;futex_wait_queue",
        "read;__x64_sys_read;vfs_read"})
    BOOST_TEST(!contains(text_with_sync(call, kSecond), "the disk"), call);
  BOOST_TEST(!contains(text_with_sync("fsync;__x64_sys_fsync;do_fsync", 100 * kMs), "the disk"));
}

BOOST_AUTO_TEST_CASE(finds_contention_in_stacks_of_locks) {
  const std::string text =
      text_of_stacks({{"main;pthread_mutex_lock;__x64_sys_futex;futex_wait_queue", 5 * kSecond},
                      {"main;nap;__x64_sys_clock_nanosleep;hrtimer_nanosleep", 3 * kSecond}});
  BOOST_TEST(contains(text,
                      "1 server has 3 threads that waited for a lock for 15.0 s in 10.0 s (blocked "
                      "6.00K times per second, 0.40 ms each)\n    ctprof show a.zst --group-by "
                      "comm"),
             text);
  for (const char* lock : {"inode_lock;rwsem_down_write_slowpath;schedule",
                           "take_gil;pthread_cond_timedwait;__x64_sys_futex;futex_do_wait"})
    BOOST_TEST(contains(text_of_stacks({{lock, 8 * kSecond}}), "waited for a lock"), lock);
}

// Only one of the threads waits for a lock, so no other thread of the process contends for it.
BOOST_AUTO_TEST_CASE(contention_needs_two_threads_that_wait_for_a_lock) {
  const hand_made::StackValue lock{{"main;pthread_mutex_lock;futex_wait_queue", 8 * kSecond}},
      nap{{"main;do_nanosleep", 8 * kSecond}};
  const auto text = [](Cells<hand_made::StackValue> stacks) {
    Snapshot window = window_with(kShortWaits);
    hand_made::add_stacks(window, kWaitingStacks, stacks);
    return text_of(report_of(window));
  };
  BOOST_TEST(text({nap, lock, nap, nap}) == "");
  BOOST_TEST(contains(text({nap, lock, nap, lock}), "has 2 threads that waited for a lock for 16"));
}

BOOST_AUTO_TEST_CASE(samples_of_locks_are_shares_of_the_blocked_time) {
  const MetricDef samples = with_role(metric("seen", "StackCount", "StackSum"), "waiting-stacks");
  const std::string text = text_of_stacks(
      {{"main;pthread_mutex_lock;futex_wait_queue", 30}, {"main;do_nanosleep", 10}}, samples);
  BOOST_TEST(contains(text, "waited for a lock for 18.0 s in 10.0 s"), text);
}

BOOST_AUTO_TEST_CASE(waits_for_time_input_or_work_are_not_contention) {
  for (const char* stack :
       {"main;nanosleep;__x64_sys_clock_nanosleep;hrtimer_nanosleep;do_nanosleep;schedule",
        "main;poll;__x64_sys_poll;do_sys_poll;poll_schedule_timeout",
        "main;epoll_wait;__x64_sys_epoll_wait;ep_poll",
        "main;read;__x64_sys_read;vfs_read;pipe_read",
        "work;pthread_cond_wait;__futex_abstimed_wait_common;__x64_sys_futex;futex_wait_queue",
        "work;sem_wait;do_futex_wait;__x64_sys_futex;futex_do_wait",
        "runtime.mcall;runtime.notesleep;runtime.futex;__x64_sys_futex;futex_wait_queue"})
    BOOST_TEST(text_of_stacks({{stack, 8 * kSecond}}) == "", stack);
  // 0.6 s for a lock, of all three threads
  BOOST_TEST(text_of_stacks({{"main;pthread_mutex_lock;futex_wait_queue", 200 * kMs},
                             {"main;do_nanosleep", 7 * kSecond}}) == "");
}

BOOST_AUTO_TEST_CASE(one_waiting_thread_is_not_contention) {
  const std::vector<Row> one = threads(1, {.cpu = 2 * kSecond, .voluntary_switches = 20'000});
  BOOST_TEST(text_of(one) == "");
  BOOST_TEST(text_of(report_of(window_with_stacks(
                 one, {{"main;pthread_mutex_lock;futex_wait_queue", 8 * kSecond}}))) == "");
}

BOOST_AUTO_TEST_CASE(pools_waiting_for_work_are_not_contention) {
  BOOST_TEST(text_of(threads(20, {.cpu = kMs, .voluntary_switches = 10})) == "");
  BOOST_TEST(text_of(threads(20, {.cpu = kMs, .voluntary_switches = 1500})) == "");  // 6 ms each
}

BOOST_AUTO_TEST_CASE(finds_one_thread_of_many_that_waits_for_a_cpu) {
  const std::string text = text_of(kTail);
  BOOST_TEST(contains(text,
                      "server has a thread (worker-3, 103) that waited for a CPU for 5.0 s in 10.0 "
                      "s, the median of 5 similar threads is 0.1 s\n"),
             text);
}

BOOST_AUTO_TEST_CASE(a_pool_with_one_working_thread_is_not_a_finding) {
  std::vector<Row> all = threads(8, {.cpu = kMs});
  all[2].cpu = 9 * kSecond;
  BOOST_TEST(text_of(all) == "");
  BOOST_TEST(
      !contains(text_of(threads(8, {.cpu = kSecond, .waited = 5 * kSecond})), "has a thread"));
}

BOOST_AUTO_TEST_CASE(finds_zombies_and_shows_states) {
  const std::string text = text_of(make_zombies(12));
  BOOST_TEST(
      text ==
      "1 child has 12 zombies: processes that exited and whose parent did not wait for them\n    "
      "ctprof show a.zst --group-by pid --where 'pcomm == \"child\"' --metrics state\n");
  BOOST_TEST(text_of(make_zombies(9)) == "");
}

BOOST_AUTO_TEST_CASE(finds_threads_in_uninterruptible_sleep) {
  const Row blocked{.name = "stuck", .before = "D", .after = "D"};
  BOOST_TEST(contains(text_of({blocked}), "stuck has 1 thread in state D"), text_of({blocked}));
  Row moved = blocked;
  moved.cpu = kMs;
  BOOST_TEST(text_of({moved}) == "");
  BOOST_TEST(text_of({{.after = "D"}}) == "");
  // A thread without CPU time may or may not have run.
  Snapshot without_run_time = window_with({blocked});
  for (Column& column : without_run_time.threads().columns)
    if (column.def().role == "run-time")
      column.gaps()[0] = static_cast<ctprof_gap>(Gap::ThreadGone);
  BOOST_TEST(!contains(text_of(report_of(without_run_time)), "in state D"));
}

BOOST_AUTO_TEST_CASE(finds_refaulted_pages) {
  const std::string text = text_of({{.cpu = kSecond, .faults = 3000}});
  BOOST_TEST(contains(text, "server read pages from a disk or swap 300 times per second"), text);
  BOOST_TEST(text_of({{.cpu = kSecond, .faults = 900}}) == "");
}

BOOST_AUTO_TEST_CASE(finds_processes_that_the_kernel_killed_in_the_deepest_cgroup) {
  const std::string text = text_of(report_of(window_with({{.cpu = kSecond}}, 2)));
  BOOST_TEST(contains(text, "1 /a/b ran out of memory: the kernel killed 2 processes in it"), text);
  BOOST_TEST(contains(text, "    ctprof show a.zst --group-by cgroup\n"), text);
}

// A compiler that just started and loads its input is not a leak.
BOOST_AUTO_TEST_CASE(ignores_growth_of_a_busy_new_process) {
  Row row{.name = "compiler", .cpu = 9 * kSecond, .megabytes_before = 20, .megabytes_after = 900};
  BOOST_TEST(!contains(text_of({row}), "grew"));
  row.cpu = kSecond;
  BOOST_TEST(contains(text_of({row}), "compiler grew by 880MiB in 10.0 s"), text_of({row}));
}

BOOST_AUTO_TEST_CASE(a_new_process_is_not_growth_of_another) {
  const Row old{.name = "tool", .megabytes_before = 20, .megabytes_after = 20};
  Row started{.process = 2, .name = "tool", .megabytes_after = 500, .start = 1500};
  BOOST_TEST(!contains(text_of({old, started}), "grew"));
  // The next window has another process with this name: the memory of this one did not grow.
  Row next = started;
  next.process = 3;
  next.megabytes_after = 900;
  const Snapshot first = window_with({old, started}), last = window_with({old, next});
  BOOST_TEST(!contains(text_of(report_of({&first, &last})), "grew"));
}

// Joined groups have processes in no particular order.
BOOST_AUTO_TEST_CASE(computes_growth_of_processes_in_both_windows) {
  GroupSigns first, joined, last;
  first.large_processes = {{.tgid = 7, .start = 2, .bytes = 100},
                           {.tgid = 9, .start = 2, .bytes = 10}};
  joined.large_processes = {{.tgid = 3, .start = 1, .bytes = 50},
                            {.tgid = 8, .start = 1, .bytes = 10}};
  first += joined;
  last.large_processes = {
      {.tgid = 8, .start = 1, .bytes = 15},
      {.tgid = 3, .start = 1, .bytes = 80},
      {.tgid = 9, .start = 4, .bytes = 900},  // another process with a reused id
      {.tgid = 7, .start = 2, .bytes = 150, .is_job = true}};
  BOOST_TEST(last.growth_since(first).value() == 35);
  BOOST_TEST(!last.growth_since({}).has_value());
}

BOOST_AUTO_TEST_CASE(a_state_of_the_first_window_is_not_a_finding) {
  for (const auto& all : {kShortWaits, kTail, make_zombies(12)}) {
    const Snapshot same = window_with(all), calm = window_with(threads(5, {.cpu = kMs}));
    BOOST_TEST(text_of(report_of({&same, &same})) == "");
    BOOST_TEST(text_of(report_of({&calm, &same})) != "");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::sign_findings_test

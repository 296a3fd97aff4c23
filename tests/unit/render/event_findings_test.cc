// Tests findings about events of groups: page faults, switches and waits, and groups that stopped
// running.

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/unit/render/sign_windows.hpp"

namespace ctprof::event_findings_test {
namespace {

using namespace sign_windows;

BOOST_AUTO_TEST_SUITE(event_findings_test)

BOOST_AUTO_TEST_CASE(finds_many_faults_without_a_disk_unless_memory_grows) {
  Row row{.name = "mapper", .cpu = 5 * kSecond, .minor_faults = 2'000'000};
  BOOST_TEST(contains(text_of({row}), "mapper took 200K page faults per second"), text_of({row}));
  row.megabytes_before = 20;
  row.megabytes_after = 900;
  BOOST_TEST(!contains(text_of({row}), "page faults"));
  BOOST_TEST(text_of({{.cpu = 5 * kSecond, .minor_faults = 900'000}}) == "");
}

BOOST_AUTO_TEST_CASE(finds_many_switches_of_threads_that_could_run) {
  const auto text = [](std::uint64_t each) {
    return text_of(threads(2, {.cpu = 5 * kSecond, .involuntary_switches = each}));
  };
  BOOST_TEST(contains(text(200'000), "server gave up a CPU 40.0K times per second"), text(200'000));
  BOOST_TEST(text(40'000) == "");
}

BOOST_AUTO_TEST_CASE(finds_a_thread_that_took_over_the_load_of_all) {
  std::vector<Row> lone = threads(5, {.cpu = kMs});
  lone[3].cpu = 9 * kSecond;
  const std::string text = compare(threads(5, {.cpu = 2 * kSecond}), lone);
  BOOST_TEST(contains(text, "1 server has a thread (worker-3, 103) that ran for 9.0 s"), text);
  BOOST_TEST(!contains(compare(lone, lone), "has a thread"));
  BOOST_TEST(!contains(compare(threads(5, {.cpu = kMs}), lone), "has a thread"));
}

BOOST_AUTO_TEST_CASE(finds_a_group_that_stopped_running) {
  const std::vector<Row> busy = threads(3, {.cpu = 2 * kSecond}), still = threads(3, {.cpu = kMs}),
                         starved = threads(3, {.cpu = kMs, .waited = 5 * kSecond});
  BOOST_TEST(contains(compare(busy, still), "server ran for 0.0 s in 10.0 s"),
             compare(busy, still));
  BOOST_TEST(compare(still, still) == "");
  BOOST_TEST(!contains(compare(busy, starved), "ran for"));
}

BOOST_AUTO_TEST_CASE(finds_one_thread_that_waits_more_often_than_before) {
  const std::vector<Row> calm = threads(1, {.cpu = 2 * kSecond, .voluntary_switches = 1'000}),
                         hasty = threads(1, {.cpu = 2 * kSecond, .voluntary_switches = 90'000});
  BOOST_TEST(contains(compare(calm, hasty), "server was blocked 9.00K times per second"),
             compare(calm, hasty));
  BOOST_TEST(compare(hasty, hasty) == "");
  BOOST_TEST(text_of(hasty) == "");
}

BOOST_AUTO_TEST_CASE(many_wake_ups_precede_the_short_waits_for_a_cpu_that_they_cause) {
  Row row{.cpu = 10 * kMs, .waited = kSecond, .voluntary_switches = 20'000};
  BOOST_TEST(contains(text_of(threads(20, row)), "1 server was blocked 40.0K times per second"),
             text_of(threads(20, row)));
  row.waited = 5 * kSecond;
  row.voluntary_switches = 6'000;  // 0.8 ms each, because another thread uses the CPU
  BOOST_TEST(contains(text_of(threads(20, row)), "1 server waited "), text_of(threads(20, row)));
}

BOOST_AUTO_TEST_CASE(long_waits_are_contention_if_a_function_of_their_stacks_locks) {
  const auto text = [](const char* stack, std::uint64_t waits) {
    return text_of(report_of(window_with_stacks(
        threads(3, {.cpu = kMs, .voluntary_switches = waits}), {{stack, 8 * kSecond}})));
  };
  const char* lock = "main;pthread_mutex_lock;__lll_lock_wait;__x64_sys_futex;futex_wait_queue";
  BOOST_TEST(contains(text(lock, 50), "has 3 threads that waited for a lock for 24.0 s"),
             text(lock, 50));
  BOOST_TEST(contains(text(lock, 0), "has 3 threads that waited for a lock for 24.0 s in 10.0 s\n"),
             text(lock, 0));
  BOOST_TEST(text("park;syscall;__x64_sys_futex;futex_wait_queue", 50) == "");
}

// The waits are in the window, but a finding about the host has no condition that selects them.
BOOST_AUTO_TEST_CASE(a_finding_about_the_host_selects_no_group) {
  const Snapshot window = window_with_stacks(threads(2, {.cpu = kMs}), {});
  const Report report = report_of(window);
  BOOST_REQUIRE(report.stacks());
  const Finding finding{.rule = "pressure",
                        .group = {},
                        .subject = "the host",
                        .statement = "had a thread that waited for a disk for 28 % of the time",
                        .weight = 0.1,
                        .next = NextStep::Waits};
  const std::string files[] = {"a.zst", "b.zst"};
  BOOST_TEST(make_next_command(report, finding, {.files = files, .record_command = "x"}) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::event_findings_test

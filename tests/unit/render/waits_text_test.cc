// Tests waits as text: kernel frames are folded, idle waits are counted, and groups keep the order
// of the other tables.

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "core/render/stacks_text.hpp"
#include "core/stacks/kernel_waits.hpp"
#include "tests/unit/support/stack_reports.hpp"

namespace ctprof::waits_text_test {
namespace {

using namespace hand_made;

const MetricDef kWaits = [] {
  MetricDef def = metric("off", "StackNs", "StackSum");
  def.role = "waiting-stacks";
  return def;
}();

// Returns the stack of a thread that waits in the kernel: kernel functions first, then others.
NamedStack waiting_stack(std::vector<std::string> kernel, std::vector<std::string> others,
                         std::uint64_t ms) {
  std::vector<std::string> frames;
  for (const std::string& name : kernel) frames.push_back("[kernel]:" + name);
  for (const char* name : {"do_syscall_64", "entry_SYSCALL_64_after_hwframe"})
    frames.push_back(std::string("[kernel]:") + name);
  frames.insert(frames.end(), others.begin(), others.end());
  return {std::move(frames), ms * kMs};
}

const std::vector<std::string> kLock{"libc.so.6:__lll_lock_wait", "libc.so.6:pthread_mutex_lock",
                                     "p:handle_get", "p:main"};
const std::vector<std::string> kLoop{"libc.so.6:epoll_wait", "p:loop", "p:main"};

const std::vector<std::pair<std::string, NamedStacks>> kServer{
    {"idle", {waiting_stack({"ep_poll", "__x64_sys_epoll_wait"}, kLoop, 9900)}},
    {"server",
     {waiting_stack({"__schedule", "futex_do_wait", "__x64_sys_futex"}, kLock, 300),
      waiting_stack({"__schedule", "schedule", "futex_do_wait", "__x64_sys_futex"}, kLock, 100),
      waiting_stack({"ep_poll", "__x64_sys_epoll_wait"}, kLoop, 4000)}},
    {"reader",
     {waiting_stack({"io_schedule", "handle_mm_fault", "exc_page_fault"}, {"p:main"}, 50)}}};

std::string text_of(const Snapshot& window, bool shows_idle = false, std::size_t width = 120) {
  return format_stacks(report_of({&window}), {.width = width}, {}, shows_idle);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

BOOST_AUTO_TEST_SUITE(waits_text_test)

BOOST_AUTO_TEST_CASE(folds_kernel_frames_and_counts_idle_waits) {
  BOOST_TEST(text_of(window_of(kServer, 10, {}, kWaits)) ==
             "\n## stacks\n"
             "\noff of server: 4.40s\n"
             "waits     %  application → library (system call) ← caller\n"
             "400ms  9.1%  handle_get → pthread_mutex_lock (futex) ← main\n"
             "idle, not shown: 4.00s (--idle shows them)\n"
             "\noff of reader: 50.0ms\n"
             " waits       %  application → library (system call) ← caller\n"
             "50.0ms  100.0%  main (page fault)\n"
             "\nonly idle waits: 1 group (--idle shows them)\n");
}

BOOST_AUTO_TEST_CASE(shows_idle_waits_on_request) {
  const std::string text = text_of(window_of(kServer, 10, {}, kWaits), true);
  BOOST_TEST(contains(text, "9.90s  100.0%  loop → epoll_wait (epoll_wait) ← main\n"), text);
  BOOST_TEST(contains(text, "4.00s  90.9%  loop → epoll_wait (epoll_wait) ← main\n"), text);
  BOOST_TEST(!contains(text, "not shown"), text);
}

BOOST_AUTO_TEST_CASE(keeps_stacks_with_only_kernel_frames_and_treats_them_as_idle) {
  const Snapshot window = window_of(
      {{"kworker", {{{"[kernel]:blk_wait", "[kernel]:worker_thread"}, 10 * kMs}}}}, 10, {}, kWaits);
  BOOST_TEST(contains(text_of(window, true), "10.0ms  100.0%  blk_wait ← worker_thread\n"),
             text_of(window, true));
  BOOST_TEST(text_of(window) == "\n## stacks\n\nonly idle waits: 1 group (--idle shows them)\n");
}

// Returns a window of two threads with one wait each over the whole window, at a place that is not
// idle by itself.
Snapshot window_of_long_waits(const std::vector<MetricDef>& metrics) {
  const NamedStacks row{waiting_stack({"futex_do_wait", "__x64_sys_futex"}, kLock, 10'000)};
  Snapshot window = window_of({{"pool", row}, {"pool", row}}, 10, {}, metrics.front());
  for (std::size_t at = 1; at < metrics.size(); ++at) add_stacks(window, metrics[at], {row, row});
  add_u64(window, with_role(metric("switches", "MonotonicCount", "SumCount"), "voluntary-switches"),
          {1, 1});
  return window;
}

// Sides may differ in their columns and in the order of these.
BOOST_AUTO_TEST_CASE(treats_long_waits_as_idle_on_both_sides) {
  MetricDef other = kWaits;
  other.name = "asleep";
  const Snapshot one = window_of_long_waits({kWaits}), both = window_of_long_waits({other, kWaits});
  for (const auto& sides : {std::vector{&one, &both}, {&both, &one}}) {
    const Report report = report_of(sides);
    BOOST_REQUIRE_EQUAL(report.stacks()->groups().size(), 1u);
    const StackGroup group = first_group(report);
    BOOST_REQUIRE_EQUAL(group.waits.size(), 1u);
    BOOST_TEST(group.waits[0].busy_weights == (std::vector<double>{0, 0}));
    BOOST_TEST(group.waits[0].idle_weights == (std::vector<double>{2e9, 2e9}));
  }
}

// Long waits count as idle only if a thread waited rarely; a missing number of waits is not zero.
BOOST_AUTO_TEST_CASE(waits_without_a_number_of_waits_are_not_idle) {
  Snapshot window = window_of_long_waits({kWaits});
  for (Column& column : window.threads().columns)
    if (column.def().role == "voluntary-switches")
      column.gaps()[0] = static_cast<ctprof_gap>(Gap::ThreadGone);
  const StackGroup group = first_group(report_of({&window}));
  BOOST_REQUIRE_EQUAL(group.waits.size(), 1u);
  BOOST_TEST(group.waits[0].busy_weights == (std::vector<double>{10e9}));
  BOOST_TEST(group.waits[0].idle_weights == (std::vector<double>{10e9}));
}

BOOST_AUTO_TEST_CASE(no_line_is_wider_than_the_terminal) {
  const Snapshot window = window_of(kServer, 10, {}, kWaits);
  for (std::size_t width = 60; width <= 100; ++width) {
    std::string text = text_of(window, true, width);
    for (; !text.empty(); text.erase(0, text.find('\n') + 1))
      BOOST_TEST(get_display_width(text.substr(0, text.find('\n'))) <= width, text);
  }
}

BOOST_AUTO_TEST_CASE(knows_system_calls_faults_and_locks) {
  BOOST_TEST(get_kernel_word("__x64_sys_fsync") == "fsync");
  BOOST_TEST(get_kernel_word("__arm64_sys_futex") == "futex");
  BOOST_TEST(get_kernel_word("exc_page_fault") == "page fault");
  BOOST_TEST(get_kernel_word("schedule") == "");
  BOOST_TEST((is_idle_call("nanosleep") && !is_idle_call("fsync") && !is_idle_call("")));
  BOOST_TEST((is_lock_wait("futex_wait_queue") && is_lock_wait("__mutex_lock.constprop.0") &&
              !is_lock_wait("ep_poll")));
  BOOST_TEST((is_condition_wait("pthread_cond_timedwait@@GLIBC_2.3.2") &&
              is_condition_wait("__new_sem_wait_slow64") &&
              is_condition_wait("___pthread_cond_wait") && is_condition_wait("runtime.notesleep") &&
              !is_condition_wait("pthread_mutex_lock")));
  for (const char* entry :
       {"entry_SYSCALL_64_after_hwframe", "x64_sys_call", "el0t_64_sync_handler",
        "el0_svc_common.constprop.0", "do_el0_svc", "asm_sysvec_reschedule_ipi"})
    BOOST_TEST(is_entry_code(entry), entry);
  BOOST_TEST((!is_entry_code("__x64_sys_read") && !is_entry_code("")));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::waits_text_test

// Tests finding frames of tracing at the leaf of kernel stacks, by function name.

#include "plugins/off-cpu/tracing_frames.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace tracing_frames_test {
using namespace ctprof::off_cpu;

namespace {

// Counts the frames of tracing in a stack of these functions.
std::size_t count_own_frames(const std::vector<std::string>& functions) {
  TracingFrames own([&](std::uint64_t address) { return functions.at(address / 16); });
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t i = 0; i < functions.size(); ++i) addresses.push_back(16 * i + 16);
  return own.count(addresses);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tracing_frames_test)

BOOST_AUTO_TEST_CASE(counts_frames_at_a_tracepoint_with_one_or_more_programs) {
  BOOST_TEST(
      count_own_frames({"__bpf_get_task_stack", "bpf_get_task_stack", "bpf_prog_0123abcd_on_resume",
                        "bpf_trace_run1", "futex_do_wait", "do_futex"}) == 4u);
  BOOST_TEST(
      count_own_frames({"__bpf_get_task_stack", "bpf_get_task_stack", "bpf_prog_0123abcd_on_resume",
                        "bpf_trace_run1", "__bpf_trace_sched_exit_tp", "__traceiter_sched_exit_tp",
                        "futex_do_wait"}) == 6u);
}

BOOST_AUTO_TEST_CASE(counts_frames_at_the_end_of_schedule) {
  BOOST_TEST(count_own_frames({"__bpf_get_stack.part.0", "bpf_get_task_stack",
                               "bpf_prog_0123abcd_on_resume_fexit", "bpf_trampoline_6442498374",
                               "do_nanosleep"}) == 4u);
}

// Threads can also wait in BPF functions and in BPF programs of others.
BOOST_AUTO_TEST_CASE(keeps_frames_of_the_thread) {
  BOOST_TEST(count_own_frames({"bpf_map_lookup_elem", "__sys_bpf"}) == 0u);
  BOOST_TEST(count_own_frames({"bpf_trace_run1", "bpf_prog_load"}) == 1u);
  BOOST_TEST(count_own_frames({"bpf_prog_0123abcd_somebody_else", "bpf_trace_run1"}) == 0u);
  BOOST_TEST(count_own_frames({"", "bpf_trace_run1"}) == 0u);
  BOOST_TEST(count_own_frames({}) == 0u);
}

BOOST_AUTO_TEST_CASE(looks_up_each_address_once) {
  std::size_t lookups = 0;
  TracingFrames own([&](std::uint64_t address) {
    ++lookups;
    return std::string(address == 0x99 ? "bpf_trace_run1" : "futex_do_wait");
  });
  const std::vector<std::uint64_t> kernel{0x9a, 0x100, 0x200};
  BOOST_TEST(own.count(kernel) == 1u);
  BOOST_TEST(own.count(kernel) == 1u);
  BOOST_TEST(lookups == 2u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace tracing_frames_test

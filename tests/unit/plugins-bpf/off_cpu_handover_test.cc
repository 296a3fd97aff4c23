// Tests the kernel stacks that off-cpu passes to the core: limited by the kernel, and without
// frames of tracing.

#include <stdlib.h>

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "plugins/off-cpu/record_writer.hpp"
#include "tests/recorded/received.hpp"
#include "tests/unit/support/files.hpp"

namespace off_cpu_handover_test {
using namespace ctprof;
using namespace ctprof::off_cpu;
using recorded::ReceivedData;
using recorded::TestHost;

namespace {

// A directory like /proc of a kernel that records three frames per stack.
class FakeProc {
 public:
  FakeProc() {
    std::filesystem::create_directories(directory_ / "sys/kernel");
    std::ofstream(directory_ / "sys/kernel/perf_event_max_stack") << "3\n";
  }
  const std::string& path() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
};

// Passes a kernel thread's stack of this many frames, of which `own` belong to tracing, and returns
// the record.
recorded::ReceivedRecord hand_over(std::size_t frames, std::size_t own = 0) {
  const FakeProc proc;
  const TestHost host(proc.path());
  const Clocks clocks;
  RecordWriter handover(host.host(), clocks);
  off_stack_place place{};
  place.kernel_bytes = static_cast<std::int32_t>(frames * sizeof place.kernel[0]);
  for (std::size_t i = 0; i < frames; ++i) place.kernel[i] = 10 + i;
  ReceivedData received;
  handover.put_stack(received.sink(), {{7, 7, 100}, 5}, place, {}, 1, own);
  return received.records.at(0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(off_cpu_handover_test)

BOOST_AUTO_TEST_CASE(marks_stacks_at_the_kernels_limit_as_truncated) {
  BOOST_TEST((hand_over(2).record.flags & CTPROF_RECORD_CUT) == 0u);
  BOOST_TEST((hand_over(3).record.flags & CTPROF_RECORD_CUT) != 0u);
  BOOST_TEST((hand_over(3, 2).record.flags & CTPROF_RECORD_CUT) != 0u);
}

BOOST_AUTO_TEST_CASE(omits_frames_of_tracing) {
  const std::vector<std::uint64_t> rest{12};
  BOOST_TEST(hand_over(3, 2).kernel == rest, boost::test_tools::per_element());
  BOOST_TEST(hand_over(2, 5).kernel.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace off_cpu_handover_test

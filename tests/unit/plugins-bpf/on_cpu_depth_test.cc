// Tests how many frames and bytes on-cpu requests from the kernel, depending on --max-depth,
// --unwind, --stack-bytes and --freq.

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "plugins/on-cpu/probe.hpp"

namespace on_cpu_depth_test {
using namespace ctprof;
using namespace ctprof::on_cpu;

namespace {

std::uint32_t chain_depth_for(std::uint32_t depth, ctprof_user_stack user,
                              std::uint32_t deepest = 127) {
  ctprof_window window{};
  window.size = sizeof window;
  window.depth = depth;
  window.user_kind = user;
  return choose_chain_depth(sdk::Window(window), deepest);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(on_cpu_depth_test)

// One more frame than the requested depth shows that a stack is deeper.
BOOST_AUTO_TEST_CASE(requests_one_frame_more_than_the_depth) {
  for (const ctprof_user_stack user : {CTPROF_USER_COPY, CTPROF_USER_ADDRESSES}) {
    BOOST_TEST(chain_depth_for(5, user) == 6u);
    BOOST_TEST(chain_depth_for(0, user) == 127u);
    BOOST_TEST(chain_depth_for(127, user) == 127u);
    BOOST_TEST(chain_depth_for(0, user, 16) == 16u);
  }
}

BOOST_AUTO_TEST_CASE(copies_are_unwound_deeper_than_the_limit_of_the_kernel) {
  BOOST_TEST(chain_depth_for(1000, CTPROF_USER_COPY) == 127u);
}

BOOST_AUTO_TEST_CASE(refuses_frame_pointers_beyond_the_limit_and_names_it) {
  BOOST_CHECK_EXCEPTION(
      chain_depth_for(300, CTPROF_USER_ADDRESSES), std::runtime_error,
      [](const std::runtime_error& error) {
        return std::string(error.what()) ==
               "--max-depth 300: the kernel follows frame pointers for at most 127 frames; lower "
               "--max-depth, raise kernel.perf_event_max_stack, or use --unwind cfi";
      });
  BOOST_TEST(chain_depth_for(300, CTPROF_USER_ADDRESSES, 512) == 301u);
}

BOOST_AUTO_TEST_CASE(copies_larger_parts_at_low_sampling_rates) {
  ctprof_window window{};
  window.size = sizeof window;
  const auto copied_kib = [&](std::uint64_t frequency_hz, bool walks) {
    return choose_copied_bytes(sdk::Window(window), frequency_hz, walks) / 1024;
  };
  BOOST_TEST(copied_kib(99, false) == 32u);
  BOOST_TEST(copied_kib(250, false) == 32u);
  BOOST_TEST(copied_kib(251, false) == 8u);
  BOOST_TEST(copied_kib(999, true) == 32u);
  BOOST_TEST(copied_kib(1000, true) == 32u);
  BOOST_TEST(copied_kib(4000, true) == 16u);
  window.stack_bytes = 4099;
  BOOST_TEST(choose_copied_bytes(sdk::Window(window), 999, true) == 4096u);
  window.stack_bytes = 1 << 20;
  BOOST_TEST(choose_copied_bytes(sdk::Window(window), 99, false) == 65'520u);
  window.user_kind = CTPROF_USER_ADDRESSES;
  BOOST_TEST(choose_copied_bytes(sdk::Window(window), 99, false) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace on_cpu_depth_test

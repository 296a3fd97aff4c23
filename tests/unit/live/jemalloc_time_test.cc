// Measures how long a capture examines expensive files, in real time on this machine.

#include <boost/test/unit_test.hpp>

#include <chrono>

#include "plugins/jemalloc-ptrace/finder/finder.hpp"
#include "tests/unit/jemalloc/expensive_files.hpp"

namespace jemalloc_time_test {
using namespace ctprof::jemalloc;
using namespace ctprof::jemalloc::costly;

BOOST_AUTO_TEST_SUITE(jemalloc_time_test)

// Each file is small enough to be read.
BOOST_AUTO_TEST_CASE(limits_the_time_for_many_debug_files) {
  const auto start = std::chrono::steady_clock::now();
  const FindStatus status = find_in(60, 255 * kMiB);
  BOOST_TEST((status == FindStatus::DwarfParseFailure || status == FindStatus::TooCostly));
  BOOST_TEST((std::chrono::steady_clock::now() - start < std::chrono::seconds(10)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace jemalloc_time_test

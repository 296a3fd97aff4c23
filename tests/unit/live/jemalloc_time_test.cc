// How long a capture may look at files that are costly: real time, on this machine.

#include <boost/test/unit_test.hpp>

#include <chrono>

#include "plugins/jemalloc-ptrace/finder/finder.hpp"
#include "tests/unit/jemalloc/costly_files.hpp"

namespace jemalloc_time_test {
using namespace ctprof::jemalloc;
using namespace ctprof::jemalloc::costly;

BOOST_AUTO_TEST_SUITE(jemalloc_time_test)

// Each is small enough to be looked at.
BOOST_AUTO_TEST_CASE(links_to_many_files) {
  const auto start = std::chrono::steady_clock::now();
  const Attach attach = find_in(60, 255 * kMiB);
  BOOST_TEST((attach == Attach::DwarfParseFailure || attach == Attach::TooCostly));
  BOOST_TEST((std::chrono::steady_clock::now() - start < std::chrono::seconds(10)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace jemalloc_time_test

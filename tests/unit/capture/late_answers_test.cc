// Tests which files are still requested after answers missed their deadline. A slow process or file
// system does not block the others, and the total waiting time is bounded.

#include "core/capture/late_answers.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/sysmacros.h>

#include <chrono>
#include <cstdint>

namespace ctprof::late_answers_test {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{1000};
const FileId kOnDisk{makedev(254, 1), 5}, kOther{makedev(254, 2), 6}, kOfServer{makedev(0, 90), 7},
    kOfOtherServer{makedev(0, 91), 7};

BOOST_AUTO_TEST_SUITE(late_answers_test)

// For example, the process holds the lock of its mappings while it waits for a file server.
BOOST_AUTO_TEST_CASE(a_slow_process_does_not_block_its_disk_for_others) {
  LateAnswers late(kPatience);
  late.add(7, kOnDisk);
  BOOST_TEST(!late.may_ask(7, kOnDisk));
  BOOST_TEST(!late.may_ask(7, kOther));
  BOOST_TEST(!late.may_ask(7));
  BOOST_TEST(late.may_ask(8, kOnDisk));
  BOOST_TEST(late.may_ask(8));
  BOOST_TEST(late.may_ask(0));
  BOOST_TEST(late.count() == 1u);
}

BOOST_AUTO_TEST_CASE(skips_a_slow_file_server_for_all_processes) {
  LateAnswers late(kPatience);
  late.add(7, kOfServer);
  BOOST_TEST(!late.may_ask(7, kOfServer));
  BOOST_TEST(!late.may_ask(8, kOfServer));
  BOOST_TEST(late.may_ask(7, kOnDisk));
  BOOST_TEST(late.may_ask(8, kOfOtherServer));
}

BOOST_AUTO_TEST_CASE(a_slow_path_blocks_only_its_process) {
  LateAnswers late(kPatience);
  late.add(7);
  BOOST_TEST(!late.may_ask(7, kOnDisk));
  BOOST_TEST(late.may_ask(8));
  late.add(0);  // files without a process
  BOOST_TEST(late.may_ask(0));
}

// The sum of all timeouts stays below ten seconds, whatever the number of slow processes.
BOOST_AUTO_TEST_CASE(bounds_the_total_waiting_time) {
  LateAnswers late(kPatience);
  milliseconds waited{0};
  std::uint64_t process = 1;
  for (; late.may_ask(process, kOnDisk); ++process) {
    waited += late.patience();
    late.add(process, kOnDisk);
  }
  BOOST_TEST(process > LateAnswers::kMostFull);
  BOOST_TEST(waited.count() <= 8000);
  BOOST_TEST(!late.may_ask(process + 1));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::late_answers_test

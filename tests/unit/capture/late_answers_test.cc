// What is still asked after answers were late: neither one process nor one file system takes the
// names of others, and all waiting is bounded.

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

// As where a process holds the lock of its mappings while it waits for a server.
BOOST_AUTO_TEST_CASE(a_late_process_does_not_silence_a_disk) {
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

BOOST_AUTO_TEST_CASE(a_late_server_is_asked_by_no_process_again) {
  LateAnswers late(kPatience);
  late.add(7, kOfServer);
  BOOST_TEST(!late.may_ask(7, kOfServer));
  BOOST_TEST(!late.may_ask(8, kOfServer));
  BOOST_TEST(late.may_ask(7, kOnDisk));
  BOOST_TEST(late.may_ask(8, kOfOtherServer));
}

BOOST_AUTO_TEST_CASE(a_late_path_silences_its_process_alone) {
  LateAnswers late(kPatience);
  late.add(7);
  BOOST_TEST(!late.may_ask(7, kOnDisk));
  BOOST_TEST(late.may_ask(8));
  late.add(0);  // of no process
  BOOST_TEST(late.may_ask(0));
}

// Many processes that are late together take less than ten seconds.
BOOST_AUTO_TEST_CASE(all_waiting_is_bounded) {
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

// Tests which files are still requested after answers missed their deadline. A slow process or file
// system does not block the others, and the total waiting time is bounded.

#include "core/capture/open_timeouts.hpp"

#include <boost/test/unit_test.hpp>

#include <sys/sysmacros.h>

#include <chrono>
#include <cstdint>

namespace ctprof::open_timeouts_test {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTimeout{1000};
const FileId kDiskFile{makedev(254, 1), 5}, kOtherDiskFile{makedev(254, 2), 6},
    kServerFile{makedev(0, 90), 7}, kOtherServerFile{makedev(0, 91), 7};

BOOST_AUTO_TEST_SUITE(open_timeouts_test)

// For example, the process holds the lock of its mappings while it waits for a file server.
BOOST_AUTO_TEST_CASE(a_slow_process_does_not_block_its_disk_for_others) {
  OpenTimeouts timeouts(kTimeout);
  timeouts.add({7}, kDiskFile);
  BOOST_TEST(!timeouts.may_open({7}, kDiskFile));
  BOOST_TEST(!timeouts.may_open({7}, kOtherDiskFile));
  BOOST_TEST(!timeouts.may_open({7}));
  BOOST_TEST(timeouts.may_open({8}, kDiskFile));
  BOOST_TEST(timeouts.may_open({8}));
  BOOST_TEST(timeouts.may_open({0}));
  BOOST_TEST(timeouts.count() == 1u);
}

BOOST_AUTO_TEST_CASE(skips_a_slow_file_server_for_all_processes) {
  OpenTimeouts timeouts(kTimeout);
  timeouts.add({7}, kServerFile);
  BOOST_TEST(!timeouts.may_open({7}, kServerFile));
  BOOST_TEST(!timeouts.may_open({8}, kServerFile));
  BOOST_TEST(timeouts.may_open({7}, kDiskFile));
  BOOST_TEST(timeouts.may_open({8}, kOtherServerFile));
}

BOOST_AUTO_TEST_CASE(a_slow_path_blocks_only_its_process) {
  OpenTimeouts timeouts(kTimeout);
  timeouts.add({7});
  BOOST_TEST(!timeouts.may_open({7}, kDiskFile));
  BOOST_TEST(timeouts.may_open({8}));
  timeouts.add({0});  // files without a process
  BOOST_TEST(timeouts.may_open({0}));
}

// The sum of all timeouts stays below ten seconds, regardless of the number of slow processes.
BOOST_AUTO_TEST_CASE(bounds_the_total_waiting_time) {
  OpenTimeouts timeouts(kTimeout);
  milliseconds total_wait{0};
  std::uint64_t process = 1;
  for (; timeouts.may_open({process}, kDiskFile); ++process) {
    total_wait += timeouts.next_time_limit();
    timeouts.add({process}, kDiskFile);
  }
  BOOST_TEST(process > OpenTimeouts::kMaxFullWaits);
  BOOST_TEST(total_wait.count() <= 8000);
  BOOST_TEST(!timeouts.may_open({process + 1}));
}

// The processes are on a disk, so that no device is skipped.
BOOST_AUTO_TEST_CASE(skips_users_with_many_slow_processes) {
  constexpr uid_t kUser = 1000, kOtherUser = 1001, kRoot = 0;
  for (const uid_t user : {kUser, kRoot}) {
    OpenTimeouts timeouts(kTimeout);
    for (std::uint64_t process = 1; process <= OpenTimeouts::kMaxTimeoutsPerUser; ++process) {
      BOOST_TEST(timeouts.may_open({process, user}, kDiskFile));
      process % 2 == 0 ? timeouts.add({process, user}) : timeouts.add({process, user}, kDiskFile);
    }
    const bool is_root = user == kRoot;
    BOOST_TEST(timeouts.may_open({99, user}, kDiskFile) == is_root);
    BOOST_TEST(timeouts.may_open({99, user}) == is_root);
    BOOST_TEST(timeouts.may_open({99, kOtherUser}, kDiskFile));
    BOOST_TEST(timeouts.may_open({99}));
  }
}

// A user can mount a file server for each process.
BOOST_AUTO_TEST_CASE(counts_timeouts_of_file_servers_by_user) {
  OpenTimeouts timeouts(kTimeout);
  for (std::uint64_t number = 1; number <= OpenTimeouts::kMaxTimeoutsPerUser; ++number)
    timeouts.add({number, 1000}, {makedev(0, 100 + number), 5});
  BOOST_TEST(!timeouts.may_open({99, 1000}, kServerFile));
  BOOST_TEST(timeouts.may_open({99, 1001}, kServerFile));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::open_timeouts_test

// Tests the limit on the CPU time of stack walks per process, and the message about refused walks.

#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ctprof/files.hpp"
#include "plugins/shared/walk_accounts.hpp"

namespace walk_accounts_test {
using namespace ctprof;

namespace {

constexpr std::uint64_t kNow = 5'000'000'000, kSecond = 1'000'000'000;

// Returns how many walks of this length an account accepts within a second before it is exhausted.
std::size_t walks_until_spent(std::uint64_t ns, std::size_t most) {
  walk_account account{};
  for (std::size_t walks = 1; walks <= most; ++walks)
    if (walk_account_charge(&account, 7, kNow + walks, ns) != 0) return walks;
  return 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(walk_accounts_test)

BOOST_AUTO_TEST_CASE(a_process_may_use_two_percent_of_a_cpu) {
  BOOST_TEST(walks_until_spent(20'000, 10'000) == 1'000u);
  BOOST_TEST(walks_until_spent(40'000, 10'000) == 500u);
}

BOOST_AUTO_TEST_CASE(walks_as_cheap_as_copies_are_not_charged) {
  BOOST_TEST(walks_until_spent(WALK_CHEAP_NS - 1, 100'000) == 0u);
}

BOOST_AUTO_TEST_CASE(refuses_walks_until_the_end_of_the_second) {
  walk_account account{};
  BOOST_TEST(!walk_is_refused(&account, kNow));
  BOOST_TEST(walk_account_charge(&account, 7, kNow, WALK_BUDGET_NS - 1) == 0u);
  BOOST_TEST(!walk_is_refused(&account, kNow + 1));
  BOOST_TEST(walk_account_charge(&account, 7, kNow + 1, WALK_CHEAP_NS) == kNow + kSecond);
  BOOST_TEST(walk_is_refused(&account, kNow + 2));
  BOOST_TEST(walk_is_refused(&account, kNow + kSecond - 1));
  BOOST_TEST(!walk_is_refused(&account, kNow + kSecond));
  BOOST_TEST(account.refused_walks == 2u);
  BOOST_TEST(walk_account_charge(&account, 7, kNow + kSecond, WALK_CHEAP_NS) == 0u);
  BOOST_TEST(account.spent_ns == std::uint64_t{WALK_CHEAP_NS});
}

BOOST_AUTO_TEST_CASE(every_process_has_an_account) {
  for (std::uint32_t tgid = 1; tgid < 100'000; ++tgid)
    BOOST_REQUIRE(walk_account_slot(tgid) < static_cast<std::uint32_t>(WALK_ACCOUNTS));
}

BOOST_AUTO_TEST_CASE(names_the_process_with_the_most_refused_walks) {
  std::vector<walk_account> accounts(4);
  BOOST_TEST(describe_refused_walks("on-cpu", accounts) == "");
  accounts[1] = {kNow, 0, 5, 41, 0};
  BOOST_TEST(describe_refused_walks("on-cpu", accounts) ==
             "on-cpu: 5 stacks of process 41 were copied, because walking them in the kernel took "
             "more than 2 % of a CPU");
  accounts[3] = {kNow, 0, 700, 42, 0};
  BOOST_TEST(describe_refused_walks("off-cpu", accounts) ==
             "off-cpu: 705 stacks of process 42 and 1 other were copied, because walking them in "
             "the kernel took more than 2 % of a CPU");
}

// A file in memory in place of the map of a program.
class AccountsInMemory {
 public:
  AccountsInMemory() : fd_(::memfd_create("accounts", MFD_CLOEXEC)) {
    constexpr std::size_t kSize = WALK_ACCOUNTS * sizeof(walk_account);
    BOOST_REQUIRE(::ftruncate(fd_.get(), kSize) == 0);
    void* address = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    BOOST_REQUIRE(address != MAP_FAILED);
    accounts_ = static_cast<walk_account*>(address);
  }
  ~AccountsInMemory() { ::munmap(accounts_, WALK_ACCOUNTS * sizeof(walk_account)); }
  AccountsInMemory(const AccountsInMemory&) = delete;
  AccountsInMemory& operator=(const AccountsInMemory&) = delete;
  int fd() const { return fd_.get(); }
  walk_account& operator[](std::size_t number) { return accounts_[number]; }

 private:
  sdk::Fd fd_;
  walk_account* accounts_ = nullptr;
};

// The end of a recording follows the end of its last window, and reports the remarks again.
BOOST_AUTO_TEST_CASE(describes_the_same_window_until_the_next_one_ends) {
  AccountsInMemory memory;
  const auto accounts = WalkAccounts::open(memory.fd());
  BOOST_REQUIRE(accounts);
  memory[1] = {kNow, 0, 5, 41, 0};
  accounts->end_window();
  const std::string remark = accounts->describe_window("on-cpu");
  BOOST_TEST(remark.starts_with("on-cpu: 5 stacks of process 41 were copied"));
  BOOST_TEST(accounts->describe_window("on-cpu") == remark);
  memory[1].refused_walks = 6;
  BOOST_TEST(accounts->describe_window("on-cpu").starts_with("on-cpu: 6 stacks of process 41"));
  accounts->end_window();
  BOOST_TEST(accounts->describe_window("on-cpu").starts_with("on-cpu: 6 stacks of process 41"));
  accounts->end_window();
  BOOST_TEST(accounts->describe_window("on-cpu") == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace walk_accounts_test

#include "plugins/shared/walk_accounts.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace ctprof {
namespace {

std::uint64_t count_refused_walks(std::span<const walk_account> accounts) {
  return std::accumulate(
      accounts.begin(), accounts.end(), std::uint64_t{0},
      [](std::uint64_t sum, const walk_account& account) { return sum + account.refused_walks; });
}

std::size_t mapped_bytes() {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (WALK_ACCOUNTS * sizeof(walk_account) + page - 1) / page * page;
}

}  // namespace

std::string describe_refused_walks(const std::string& recorder,
                                   std::span<const walk_account> accounts) {
  const std::uint64_t refused = count_refused_walks(accounts);
  if (refused == 0) return {};
  const auto most_refused = std::ranges::max_element(accounts, {}, &walk_account::refused_walks);
  const auto processes = std::ranges::count_if(
      accounts, [](const walk_account& account) { return account.refused_walks; });
  std::string others;
  if (processes > 1)
    others = " and " + std::to_string(processes - 1) + (processes > 2 ? " others" : " other");
  return recorder + ": " + std::to_string(refused) + " stacks of process " +
         std::to_string(most_refused->tgid) + others +
         " were copied, because walking them in the kernel took more than 2 % of a CPU";
}

std::unique_ptr<WalkAccounts> WalkAccounts::open(int map) {
  void* address = ::mmap(nullptr, mapped_bytes(), PROT_READ, MAP_SHARED, map, 0);
  if (address == MAP_FAILED) return nullptr;
  return std::unique_ptr<WalkAccounts>(new WalkAccounts(static_cast<const walk_account*>(address)));
}

WalkAccounts::~WalkAccounts() { ::munmap(const_cast<walk_account*>(accounts_), mapped_bytes()); }

void WalkAccounts::end_window() {
  refused_at_begin_ =
      std::exchange(refused_at_end_, count_refused_walks({accounts_, WALK_ACCOUNTS}));
}

std::string WalkAccounts::describe_window(const std::string& recorder) const {
  const std::span accounts(accounts_, WALK_ACCOUNTS);
  if (count_refused_walks(accounts) == refused_at_begin_) return {};
  return describe_refused_walks(recorder, accounts);
}

}  // namespace ctprof

#include "plugins/sleepers/copier.hpp"

#include <sys/types.h>

#include <algorithm>
#include <cerrno>

#include "plugins/shared/clock.hpp"

namespace ctprof::sleepers {
namespace {

// The limit of a record.
constexpr std::size_t kMostOfRecord = 256 * 1024;
// The part that every stack gets; the whole stack of all but a few sleepers.
constexpr std::size_t kForAll = 64 * 1024;
// The whole stack of 96 in 100 sleepers.
constexpr std::size_t kUsualCopy = 16 * 1024;
// Limit of all stacks in a pass. Stacks beyond it have no user part.
constexpr std::size_t kMostOfPass = 64 << 20;
// Limit of the parts beyond kForAll in a pass. Stacks after that only get kForAll.
constexpr std::size_t kMostBeyond = 16 << 20;
// The kernel accepts 1024. After an unreadable stack, all later ones are requested again.
constexpr std::size_t kMostAtOnce = 256;

}  // namespace

std::size_t Copier::wanted_of(const Sleeper& sleeper) const {
  const std::size_t most = most_ > 0 ? std::min(most_, kMostOfRecord) : kMostOfRecord;
  const std::size_t there = sleeper.depth > 0 ? sleeper.depth : kUsualCopy;
  return (std::min(most, there) + 7) / 8 * 8;
}

std::size_t Copier::granted(Pass& pass, std::size_t wanted) {
  if (wanted <= kForAll) return wanted;
  const std::size_t beyond = std::min(wanted - kForAll, kMostBeyond - pass.copied_beyond);
  pass.copied_beyond += beyond;
  return kForAll + beyond;
}

void Copier::copy(Pass& pass, std::span<const std::uint32_t> sleepers) {
  order_.assign(sleepers.begin(), sleepers.end());
  const auto process_of = [&](std::uint32_t i) { return pass.fresh[i].tgid; };
  if (!std::ranges::is_sorted(order_, {}, process_of))
    std::ranges::stable_sort(order_, {}, process_of);
  for (std::size_t begin = 0, end = 0; begin < order_.size(); begin = end) {
    while (end < order_.size() && process_of(order_[end]) == process_of(order_[begin])) ++end;
    copy_process(pass, std::span(order_).subspan(begin, end - begin));
  }
}

void Copier::copy_process(Pass& pass, std::span<const std::uint32_t> sleepers) {
  const std::uint32_t tgid = pass.fresh[sleepers.front()].tgid;
  const bool is_avoided = avoided_.contains(tgid);
  wanted_.clear();
  std::size_t total = pass.copied;
  for (const std::uint32_t i : sleepers) {
    const std::size_t wanted = wanted_of(pass.fresh[i]);
    if (is_avoided || total + wanted > kMostOfPass) {
      pass.fresh[i].user = UserPart::Lacking;
      continue;
    }
    wanted_.push_back({i, granted(pass, wanted)});
    total += wanted_.back().size;
  }
  for (std::size_t done = 0; done < wanted_.size();)
    done += read(pass, std::span(wanted_).subspan(done));
}

// The other thread waits for memory, and its result is written to a buffer that is no longer used.
bool Copier::take_over(std::uint32_t process, Pass& pass) {
  if (!reads_from_.compare_exchange_strong(process, 0)) return false;
  avoided_.insert(process);
  pass.copies.move_away(pass.copied);
  return true;
}

// The kernel reads the stacks one after the other and stops where memory ends, often in the middle
// of a stack. The bytes before that are valid.
std::size_t Copier::read(Pass& pass, std::span<const Wanted> wanted) {
  wanted = wanted.first(std::min(wanted.size(), kMostAtOnce));
  std::size_t total = 0;
  for (const Wanted& one : wanted) total += one.size;
  std::uint8_t* room = pass.copies.room(pass.copied, total);
  here_.assign(1, {room, total});
  there_.clear();
  for (const Wanted& one : wanted)
    there_.push_back({reinterpret_cast<void*>(pass.fresh[one.sleeper].sp), one.size});
  const auto tgid = static_cast<pid_t>(pass.fresh[wanted.front().sleeper].tgid);
  const auto kept = pass.copies.shared();
  auto from = static_cast<std::uint32_t>(tgid);
  reads_since_ns_ = clock_ns(CLOCK_MONOTONIC);
  reads_from_ = from;
  const ssize_t got =
      ::process_vm_readv(tgid, here_.data(), here_.size(), there_.data(), there_.size(), 0);
  const int error = errno;
  if (!reads_from_.compare_exchange_strong(from, 0)) throw LeftBehind();
  const bool is_closed = got < 0 && error != EFAULT && error != EINVAL;
  std::size_t left = got > 0 ? static_cast<std::size_t>(got) : 0, done = 0;
  for (const Wanted& one : wanted) {
    Sleeper& sleeper = pass.fresh[one.sleeper];
    sleeper.copy_at = pass.copied;
    sleeper.copied = std::min(left, one.size);
    if (sleeper.copied == 0) sleeper.user = UserPart::Lacking;
    pass.copied += sleeper.copied;
    left -= sleeper.copied;
    ++done;
    if (sleeper.copied < one.size && !is_closed) break;
  }
  return done;
}

}  // namespace ctprof::sleepers

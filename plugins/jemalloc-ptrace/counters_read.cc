#include "plugins/jemalloc-ptrace/counters_read.hpp"

#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace ctprof::jemalloc {
namespace {

constexpr std::uint64_t kCounterBytes = sizeof(std::uint64_t);
// Limit of the distance between the two counters: both are members of one structure, which is
// smaller than this in every version.
constexpr std::int64_t kFarthest = 4096;
// No user memory begins at or above this, on either machine.
constexpr std::uint64_t kTop = std::uint64_t{1} << 56;

bool still_there(const Tracee& tracee) {
  // A thread that may not be signalled also exists.
  return ::syscall(SYS_tgkill, tracee.tgid, tracee.tid, 0) == 0 || errno != ESRCH;
}

std::uint64_t word(const char* bytes) {
  std::uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace

std::optional<Extent> extent_of(std::uint64_t pointer, const CounterPair& counters) {
  const auto [low, high] = std::minmax(counters.allocated, counters.deallocated);
  const auto farthest = static_cast<std::int64_t>(kTop);
  if (pointer >= kTop || low < -farthest || high > farthest || high - low > kFarthest)
    return std::nullopt;
  const auto address = static_cast<std::int64_t>(pointer) + low;
  if (address <= 0 || address >= farthest) return std::nullopt;
  return Extent{static_cast<std::uint64_t>(address),
                static_cast<std::uint32_t>(high - low) + static_cast<std::uint32_t>(kCounterBytes)};
}

void CountersRead::gather(std::span<Tracee> tracees, const CounterPair& pair) {
  wanted_.clear();
  remote_.clear();
  std::size_t size = 0;
  for (Tracee& tracee : tracees) {
    if (tracee.outcome.failed != ProbeStep::Done) continue;
    const auto extent = extent_of(tracee.pointer, pair);
    if (!extent) {
      tracee.outcome = {ProbeStep::TlsArithmetic, EFAULT};
      continue;
    }
    wanted_.push_back(&tracee);
    remote_.push_back({reinterpret_cast<void*>(extent->address), extent->size});
    size += extent->size;
  }
  bytes_.resize(size);
}

// Reads as many as one call accepts, starting at `first`, with the id of that thread, because its
// leader may have exited.
long CountersRead::fetch_from(std::size_t first) {
  const std::size_t each = remote_[first].iov_len;
  const std::size_t count = std::min<std::size_t>(remote_.size() - first, IOV_MAX);
  const iovec local{bytes_.data() + first * each, count * each};
  return ::process_vm_readv(wanted_[first]->tid, &local, 1, remote_.data() + first, count, 0);
}

// A call reads up to the first extent that it cannot read; the next call continues after it.
void CountersRead::fetch() {
  for (std::size_t next = 0; next < wanted_.size();) {
    const long got = fetch_from(next);
    const std::size_t whole = got > 0 ? static_cast<std::size_t>(got) / remote_[next].iov_len : 0;
    const std::size_t asked = std::min<std::size_t>(wanted_.size() - next, IOV_MAX);
    if (whole < asked)
      wanted_[next + whole]->outcome = {ProbeStep::ReadMemory, got < 0 ? errno : EFAULT};
    next += std::min(whole + 1, asked);
  }
}

void CountersRead::add(std::span<Tracee> tracees, const CounterPair& pair) {
  gather(tracees, pair);
  fetch();
  const std::int64_t low = std::min(pair.allocated, pair.deallocated);
  const char* bytes = bytes_.data();
  for (std::size_t i = 0; i < wanted_.size(); ++i, bytes += remote_[i - 1].iov_len) {
    Reading& reading = readings_[static_cast<std::size_t>(wanted_[i] - tracees.data())];
    reading.allocated += word(bytes + (pair.allocated - low));
    reading.deallocated += word(bytes + (pair.deallocated - low));
  }
}

// Sets the final outcome. Memory that could not be read may belong to an exited thread. A process
// without counters fails, and does not report zeros.
void CountersRead::settle(Tracee& tracee, const Counters& counters) {
  Outcome& outcome = tracee.outcome;
  if (outcome.failed == ProbeStep::Done && counters.all().empty())
    outcome = {ProbeStep::ReadMemory, EFAULT};
  const bool asked = outcome.failed == ProbeStep::Done || outcome.failed == ProbeStep::ReadMemory;
  if (asked && !still_there(tracee)) outcome = {ProbeStep::ReadMemory, ESRCH};
}

std::span<const Reading> CountersRead::read(std::span<Tracee> tracees, const Counters& counters) {
  readings_.assign(tracees.size(), {});
  for (const CounterPair& pair : counters.all()) add(tracees, pair);
  for (Tracee& tracee : tracees) settle(tracee, counters);
  return readings_;
}

}  // namespace ctprof::jemalloc

#include "plugins/jemalloc-ptrace/counter_reader.hpp"

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
constexpr std::int64_t kMaxDistance = 4096;
// No user memory begins at or above this, on x86_64 and aarch64.
constexpr std::uint64_t kUserAddressEnd = std::uint64_t{1} << 56;

bool still_exists(const Tracee& tracee) {
  // A thread that may not be signalled also exists.
  return ::syscall(SYS_tgkill, tracee.tgid, tracee.tid, 0) == 0 || errno != ESRCH;
}

std::uint64_t load_word(const char* bytes) {
  std::uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace

std::optional<Extent> find_extent(std::uint64_t pointer, const CounterPair& counters) {
  const auto [low, high] = std::minmax(counters.allocated, counters.deallocated);
  const auto address_end = static_cast<std::int64_t>(kUserAddressEnd);
  if (pointer >= kUserAddressEnd || low < -address_end || high > address_end ||
      high - low > kMaxDistance)
    return std::nullopt;
  const auto address = static_cast<std::int64_t>(pointer) + low;
  if (address <= 0 || address >= address_end) return std::nullopt;
  return Extent{static_cast<std::uint64_t>(address),
                static_cast<std::uint32_t>(high - low) + static_cast<std::uint32_t>(kCounterBytes)};
}

void CounterReader::collect_requests(std::span<Tracee> tracees, const CounterPair& pair) {
  requested_.clear();
  remote_.clear();
  std::size_t size = 0;
  for (Tracee& tracee : tracees) {
    if (tracee.outcome.failed_step != ProbeStep::Done) continue;
    const auto extent = find_extent(tracee.pointer, pair);
    if (!extent) {
      tracee.outcome = {ProbeStep::TlsArithmetic, EFAULT};
      continue;
    }
    requested_.push_back(&tracee);
    remote_.push_back({reinterpret_cast<void*>(extent->address), extent->size});
    size += extent->size;
  }
  bytes_.resize(size);
}

// Reads the counters of as many threads as one call accepts, starting at `first`. Passes the id of
// that thread, because its leader may have exited.
long CounterReader::read_from(std::size_t first) {
  const std::size_t extent_bytes = remote_[first].iov_len;
  const std::size_t count = std::min<std::size_t>(remote_.size() - first, IOV_MAX);
  const iovec local{bytes_.data() + first * extent_bytes, count * extent_bytes};
  return ::process_vm_readv(requested_[first]->tid, &local, 1, remote_.data() + first, count, 0);
}

// A call reads up to the first extent that it cannot read; the next call continues after it.
void CounterReader::read_all() {
  for (std::size_t next = 0; next < requested_.size();) {
    const long size_read = read_from(next);
    const std::size_t extents_read =
        size_read > 0 ? static_cast<std::size_t>(size_read) / remote_[next].iov_len : 0;
    const std::size_t requested = std::min<std::size_t>(requested_.size() - next, IOV_MAX);
    if (extents_read < requested)
      requested_[next + extents_read]->outcome = {ProbeStep::ReadMemory,
                                                  size_read < 0 ? errno : EFAULT};
    next += std::min(extents_read + 1, requested);
  }
}

void CounterReader::add_pair(std::span<Tracee> tracees, const CounterPair& pair) {
  collect_requests(tracees, pair);
  read_all();
  const std::int64_t low = std::min(pair.allocated, pair.deallocated);
  const char* bytes = bytes_.data();
  for (std::size_t i = 0; i < requested_.size(); ++i, bytes += remote_[i - 1].iov_len) {
    Reading& reading = readings_[static_cast<std::size_t>(requested_[i] - tracees.data())];
    reading.allocated += load_word(bytes + (pair.allocated - low));
    reading.deallocated += load_word(bytes + (pair.deallocated - low));
  }
}

// Sets the final outcome. Memory that could not be read may belong to an exited thread. A process
// without counters fails, and does not report zeros.
void CounterReader::set_final_outcome(Tracee& tracee, const Counters& counters) {
  Outcome& outcome = tracee.outcome;
  if (outcome.failed_step == ProbeStep::Done && counters.valid_pairs().empty())
    outcome = {ProbeStep::ReadMemory, EFAULT};
  const bool was_read =
      outcome.failed_step == ProbeStep::Done || outcome.failed_step == ProbeStep::ReadMemory;
  if (was_read && !still_exists(tracee)) outcome = {ProbeStep::ReadMemory, ESRCH};
}

std::span<const Reading> CounterReader::read(std::span<Tracee> tracees, const Counters& counters) {
  readings_.assign(tracees.size(), {});
  for (const CounterPair& pair : counters.valid_pairs()) add_pair(tracees, pair);
  for (Tracee& tracee : tracees) set_final_outcome(tracee, counters);
  return readings_;
}

}  // namespace ctprof::jemalloc

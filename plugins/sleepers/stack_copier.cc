#include "plugins/sleepers/stack_copier.hpp"

#include <sys/types.h>

#include <algorithm>
#include <cerrno>

#include "core/base/clock.hpp"

namespace ctprof::sleepers {
namespace {

// The limit of a record.
constexpr std::size_t kMaxRecordBytes = 256 * 1024;
// The part that every stack gets; the whole stack of all but a few sleepers.
constexpr std::size_t kGuaranteedBytes = 64 * 1024;
// The whole stack of 96 in 100 sleepers.
constexpr std::size_t kDefaultBytes = 16 * 1024;
// Limit of all stacks in a pass. Stacks beyond it have no user part.
constexpr std::size_t kMaxPassBytes = 64 << 20;
// Limit of the parts beyond kGuaranteedBytes in a pass. Stacks after that only get
// kGuaranteedBytes.
constexpr std::size_t kMaxExtraPassBytes = 16 << 20;
// The kernel accepts 1024. After an unreadable stack, all later ones are requested again.
constexpr std::size_t kMaxStacksPerRead = 256;

}  // namespace

std::size_t StackCopier::requested_bytes(const Sleeper& sleeper) const {
  const std::size_t most = max_bytes_ > 0 ? std::min(max_bytes_, kMaxRecordBytes) : kMaxRecordBytes;
  const std::size_t extent = sleeper.stack_extent > 0 ? sleeper.stack_extent : kDefaultBytes;
  return (std::min(most, extent) + 7) / 8 * 8;
}

std::size_t StackCopier::grant_bytes(Pass& pass, std::size_t requested) {
  if (requested <= kGuaranteedBytes) return requested;
  const std::size_t extra_bytes =
      std::min(requested - kGuaranteedBytes, kMaxExtraPassBytes - pass.copied_extra);
  pass.copied_extra += extra_bytes;
  return kGuaranteedBytes + extra_bytes;
}

void StackCopier::copy(Pass& pass, std::span<const std::uint32_t> sleepers) {
  order_.assign(sleepers.begin(), sleepers.end());
  const auto process_of = [&](std::uint32_t i) { return pass.changed_sleepers[i].tgid; };
  if (!std::ranges::is_sorted(order_, {}, process_of))
    std::ranges::stable_sort(order_, {}, process_of);
  for (std::size_t begin = 0, end = 0; begin < order_.size(); begin = end) {
    while (end < order_.size() && process_of(order_[end]) == process_of(order_[begin])) ++end;
    copy_process(pass, std::span(order_).subspan(begin, end - begin));
  }
}

void StackCopier::copy_process(Pass& pass, std::span<const std::uint32_t> sleepers) {
  const std::uint32_t tgid = pass.changed_sleepers[sleepers.front()].tgid;
  const bool is_avoided = avoided_processes_.contains(tgid);
  requests_.clear();
  std::size_t total = pass.copied;
  for (const std::uint32_t i : sleepers) {
    const std::size_t requested_size = requested_bytes(pass.changed_sleepers[i]);
    if (is_avoided || total + requested_size > kMaxPassBytes) {
      pass.changed_sleepers[i].user = UserPart::Unavailable;
      continue;
    }
    requests_.push_back({i, grant_bytes(pass, requested_size)});
    total += requests_.back().size;
  }
  for (std::size_t finished = 0; finished < requests_.size();)
    finished += read_stacks(pass, std::span(requests_).subspan(finished));
}

// The other thread waits for memory, and its result is written to a buffer that is no longer used.
bool StackCopier::take_over(std::uint32_t process, Pass& pass) {
  if (!current_process_.compare_exchange_strong(process, 0)) return false;
  avoided_processes_.insert(process);
  pass.copies.move_away(pass.copied);
  return true;
}

// The kernel reads the stacks one after the other and stops where memory ends, often in the middle
// of a stack. The bytes before that are valid.
std::size_t StackCopier::read_stacks(Pass& pass, std::span<const CopyRequest> requests) {
  requests = requests.first(std::min(requests.size(), kMaxStacksPerRead));
  std::size_t total = 0;
  for (const CopyRequest& request : requests) total += request.size;
  std::uint8_t* buffer = pass.copies.reserve(pass.copied, total);
  local_buffers_.assign(1, {buffer, total});
  remote_buffers_.clear();
  for (const CopyRequest& request : requests)
    remote_buffers_.push_back(
        {reinterpret_cast<void*>(pass.changed_sleepers[request.sleeper].sp), request.size});
  const auto tgid = static_cast<pid_t>(pass.changed_sleepers[requests.front().sleeper].tgid);
  const auto buffer_owner = pass.copies.shared();
  auto process = static_cast<std::uint32_t>(tgid);
  read_start_ns_ = clock_ns(CLOCK_MONOTONIC);
  current_process_ = process;
  const ssize_t size_read = ::process_vm_readv(tgid, local_buffers_.data(), local_buffers_.size(),
                                               remote_buffers_.data(), remote_buffers_.size(), 0);
  const int error = errno;
  if (!current_process_.compare_exchange_strong(process, 0)) throw AbandonedPass();
  const bool is_closed = size_read < 0 && error != EFAULT && error != EINVAL;
  std::size_t bytes_left = size_read > 0 ? static_cast<std::size_t>(size_read) : 0, finished = 0;
  for (const CopyRequest& request : requests) {
    Sleeper& sleeper = pass.changed_sleepers[request.sleeper];
    sleeper.copy_offset = pass.copied;
    sleeper.copied = std::min(bytes_left, request.size);
    if (sleeper.copied == 0) sleeper.user = UserPart::Unavailable;
    pass.copied += sleeper.copied;
    bytes_left -= sleeper.copied;
    ++finished;
    if (sleeper.copied < request.size && !is_closed) break;
  }
  return finished;
}

}  // namespace ctprof::sleepers

#include "plugins/sleepers/bpf_sampler.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "plugins/sleepers/recheck.h"

namespace ctprof::sleepers {
namespace {

// The kernel has a buffer of 32 KiB, and runs the program again for a thread whose record does not
// fit. This smaller size ensures that each record fits, and that copies are made soon after the
// sample.
constexpr std::size_t kReadBytes = 8 * 1024;
// Attempts for one thread. A thread that runs each time gets a user part in another pass.
constexpr int kMaxAttempts = 6;
// Far more than the threads of any host.
constexpr std::size_t kMaxRecords = 4 << 20;
// Limit of a stack. A thread pointer farther above belongs to something else.
constexpr std::uint64_t kMaxStackBytes = 64 << 20;

// Returns the extent of the stack, from its possible bases; 0: unknown.
std::uint64_t compute_stack_extent(const ::sleeper_sample& record) {
  std::uint64_t depth = 0;
  for (const std::uint64_t begin : {record.thread_pointer, record.start_stack})
    if (begin > record.sp && begin - record.sp <= kMaxStackBytes &&
        (depth == 0 || begin - record.sp < depth))
      depth = begin - record.sp;
  return depth;
}

}  // namespace

BpfSampler::BpfSampler(std::unique_ptr<SampleInput> input, std::uint64_t ns_per_tick)
    : input_(std::move(input)),
      ns_per_tick_(ns_per_tick),
      buffer_(kReadBytes + sizeof(::sleeper_sample)) {}

// Calls on_awoken(sleeper, sample) for each of these threads that has run since it was sampled,
// because the copy of its stack is from another time. `sample` is null if the thread does not sleep
// now. Calls nothing if the kernel does not support the check.
template <class AwokenCallback>
void BpfSampler::find_awoken(const Pass& pass, std::span<const std::uint32_t> sleepers,
                             AwokenCallback on_awoken) {
  recheck_entry* threads = input_->recheck_buffer();
  if (!threads) return;
  while (!sleepers.empty()) {
    const auto batch = sleepers.first(std::min<std::size_t>(sleepers.size(), RECHECK_MAX_THREADS));
    sleepers = sleepers.subspan(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      threads[i].tid = pass.changed_sleepers[batch[i]].tid;
      threads[i].switches = pass.changed_sleepers[batch[i]].switches;
      threads[i].start_boottime = pass.changed_sleepers[batch[i]].start_ns;
    }
    if (!input_->recheck(batch.size())) return;
    for (std::size_t i = 0; i < batch.size(); ++i)
      if (threads[i].result != RECHECK_UNCHANGED)
        on_awoken(batch[i],
                  threads[i].result == RECHECK_ASLEEP_AGAIN ? &threads[i].sample : nullptr);
  }
}

void BpfSampler::sample(std::uint32_t round, Pass& pass) {
  input_->begin(round);
  partial_bytes_ = 0;
  read_all(pass);
}

// The last copies may be incomplete, so these users are copied again.
void BpfSampler::resume(Pass& pass) {
  copy_user_stacks(pass);
  read_all(pass);
}

void BpfSampler::read_all(Pass& pass) {
  while (const std::size_t size_read =
             input_->read(std::span(buffer_).subspan(partial_bytes_, kReadBytes))) {
    const std::size_t first = pass.changed_sleepers.size();
    handle_records(pass, partial_bytes_ + size_read);
    find_user_sleepers(pass, first);
    copy_user_stacks(pass);
    if (pass.sleepers() > kMaxRecords) break;
  }
  if (partial_bytes_ > 0)
    throw std::runtime_error("reading the sleepers by BPF: incomplete record");
}

void BpfSampler::find_user_sleepers(const Pass& pass, std::size_t first) {
  user_sleepers_.clear();
  for (std::size_t i = first; i < pass.changed_sleepers.size(); ++i)
    if (pass.changed_sleepers[i].user == UserPart::Copied)
      user_sleepers_.push_back(static_cast<std::uint32_t>(i));
}

// Copies user stacks. A thread that runs meanwhile is sampled and copied again when it sleeps, and
// has no user part after the last attempt.
void BpfSampler::copy_user_stacks(Pass& pass) {
  for (int attempts_left = kMaxAttempts; !user_sleepers_.empty(); --attempts_left) {
    input_->copy(pass, user_sleepers_);
    awoken_.clear();
    find_awoken(pass, user_sleepers_, [&](std::uint32_t i, const ::sleeper_sample* now) {
      Sleeper& sleeper = pass.changed_sleepers[i];
      if (now) fill_sleeper(pass, sleeper, *now);
      if (attempts_left == 1) sleeper.user = UserPart::Unavailable;
      if (sleeper.user == UserPart::Copied) awoken_.push_back(i);
    });
    std::swap(user_sleepers_, awoken_);
  }
}

// Handles complete records. The rest of an incomplete record moves to the front of the buffer.
void BpfSampler::handle_records(Pass& pass, std::size_t size) {
  std::size_t offset = 0;
  ::sleeper_sample record;
  while (size - offset >= sizeof record.head) {
    std::memcpy(&record.head, buffer_.data() + offset, sizeof record.head);
    const std::size_t record_size = record.head.size;
    if (record_size < sizeof record.head || record_size > sizeof record)
      throw std::runtime_error("reading the sleepers by BPF: invalid record size");
    if (record_size > size - offset) break;
    std::memcpy(&record, buffer_.data() + offset, record_size);
    handle_record(pass, record);
    offset += record_size;
  }
  partial_bytes_ = size - offset;
  std::memmove(buffer_.data(), buffer_.data() + offset, partial_bytes_);
}

void BpfSampler::handle_record(Pass& pass, const ::sleeper_sample& record) const {
  if (record.head.tid == record.head.tgid) pass.visited_tgids.push_back(record.head.tgid);
  if (record.head.flags & SAMPLE_AWAKE) return;
  const SleepingThread sleeping_thread{record.head.tgid, record.head.tid,
                                       record.head.start_boottime / ns_per_tick_};
  if (record.head.flags & SAMPLE_HIDDEN) return pass.hidden_stacks.push_back(sleeping_thread);
  if (record.head.flags & SAMPLE_UNCHANGED) return pass.unchanged.push_back(sleeping_thread);
  fill_sleeper(pass, pass.changed_sleepers.emplace_back(), record);
}

void BpfSampler::fill_sleeper(Pass& pass, Sleeper& sleeper, const ::sleeper_sample& record) const {
  sleeper = {};
  sleeper.tgid = record.head.tgid;
  sleeper.tid = record.head.tid;
  sleeper.start_ticks = record.head.start_boottime / ns_per_tick_;
  sleeper.start_ns = record.head.start_boottime;
  sleeper.switches = record.switches;
  sleeper.first_address = pass.addresses.size();
  sleeper.addresses = record.frames;
  pass.addresses.insert(pass.addresses.end(), record.kernel, record.kernel + record.frames);
  if (record.head.flags & SAMPLE_KERNEL_THREAD) return;
  sleeper.user = record.head.flags & SAMPLE_32_BIT ? UserPart::Unavailable : UserPart::Copied;
  sleeper.ip = record.ip;
  sleeper.sp = record.sp;
  sleeper.bp = record.bp;
  sleeper.lr = record.lr;
  sleeper.stack_extent = compute_stack_extent(record);
  sleeper.code = {record.memory, record.code_pages, record.execs};
}

}  // namespace ctprof::sleepers

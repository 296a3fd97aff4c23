#include "tests/recorded/taskstats_trace.hpp"

#include <linux/taskstats.h>

#include <cstddef>
#include <cstring>
#include <utility>

namespace ctprof::recorded::taskstats_trace {

using taskstats::SocketError;

namespace {

// Offsets of the parent's id in struct taskstats, and in version 15, which moved it.
constexpr std::size_t kParent = offsetof(::taskstats, ac_ppid), kParentIn15 = kParent + 48;
constexpr std::uint16_t kInterleaved = 15;
static_assert(kParent == 132);

}  // namespace

RecordingInput::RecordingInput(std::unique_ptr<taskstats::ExitInput> input, std::uint64_t pid,
                               TraceWriter& trace)
    : input_(std::move(input)), pid_(pid), trace_(trace) {
  trace_.add_layouts(kLayouts);
}

std::uint64_t RecordingInput::now_ns(clockid_t clock) const {
  const std::uint64_t ns = input_->now_ns(clock);
  if (!has_only_others_) trace_.put_value(kClock, ns);
  return ns;
}

SocketError RecordingInput::open() {
  SocketError refused = input_->open();
  trace_.add_fact("family", std::to_string(refused.error == 0 ? input_->family() : 0));
  return refused;
}

std::span<const Bytes> RecordingInput::receive_exit_messages() {
  const std::span<const Bytes> messages = input_->receive_exit_messages();
  std::vector<Bytes> kept;
  for (const Bytes message : messages)
    if (is_of_workload(message)) kept.push_back(message);
  has_only_others_ = kept.empty() && !messages.empty();
  if (has_only_others_) return messages;
  trace_.put(kMessages);
  for (const Bytes message : kept) trace_.put(kMessage, message);
  return messages;
}

bool RecordingInput::is_of_workload(Bytes message) const {
  const taskstats::Exit exit = taskstats::parse_exit(message, input_->family());
  const auto thread_identity = exit.tid == 0 ? std::nullopt : taskstats::parse_identity(exit.stats);
  if (!thread_identity) return false;
  std::uint32_t parent = 0;
  const std::size_t at = taskstats::version_of(exit.stats) == kInterleaved ? kParentIn15 : kParent;
  if (exit.stats.size() >= at + sizeof parent)
    std::memcpy(&parent, exit.stats.data() + at, sizeof parent);
  return thread_identity->tgid == pid_ || parent == pid_;
}

std::uint64_t RecordingInput::lost_count() const {
  const std::uint64_t lost = input_->lost_count();
  trace_.put_value(kLost, lost);
  return lost;
}

ReplayedInput::ReplayedInput(const Trace& trace, Cursor& cursor)
    : cursor_(cursor), family_(static_cast<std::uint16_t>(trace.number("family"))) {
  trace.require_layouts(kLayouts);
}

std::uint64_t ReplayedInput::now_ns(clockid_t) const {
  return cursor_.next(kClock).as<std::uint64_t>();
}

std::span<const Bytes> ReplayedInput::receive_exit_messages() {
  messages_.clear();
  cursor_.next(kMessages);
  while (cursor_.peek().kind == kMessage) messages_.push_back(cursor_.next().bytes);
  return messages_;
}

std::uint64_t ReplayedInput::lost_count() const { return cursor_.next(kLost).as<std::uint64_t>(); }

}  // namespace ctprof::recorded::taskstats_trace

#include "tests/recorded/sleepers_trace.hpp"

#include <cstddef>
#include <cstring>
#include <utility>

namespace ctprof::recorded::sleepers_trace {

using sleepers::UserPart;

// Layout version 1.
static_assert(SAMPLE_FIXED_BYTES == 112 && sizeof(::sleeper_sample) == 112 + 128 * 8 &&
              sizeof(::sleeper_sample_head) == 24);
static_assert(offsetof(::sleeper_sample, switches) == 24 &&
              offsetof(::sleeper_sample, memory) == 32 && offsetof(::sleeper_sample, ip) == 72 &&
              offsetof(::sleeper_sample, frames) == 104);
static_assert(offsetof(::recheck_entry, result) == 4 && offsetof(::recheck_entry, sample) == 24);

RecordingInput::RecordingInput(std::unique_ptr<sleepers::SampleInput> input, TraceWriter& trace)
    : input_(std::move(input)), trace_(trace) {
  trace_.add_layouts(kLayouts);
  trace_.add_fact("can_recheck", std::to_string(input_->recheck_buffer() != nullptr));
}

void RecordingInput::begin(std::uint32_t round) {
  trace_.put_value(kPass, std::uint64_t{round});
  input_->begin(round);
}

std::size_t RecordingInput::read(std::span<std::byte> buffer) {
  const std::size_t got = input_->read(buffer);
  trace_.put(kChunk, buffer.first(got));
  return got;
}

void RecordingInput::copy(sleepers::Pass& pass, std::span<const std::uint32_t> sleepers) {
  input_->copy(pass, sleepers);
  std::vector<CopyResult> copied;
  for (const std::uint32_t i : sleepers)
    copied.push_back(
        {i, pass.changed_sleepers[i].user == UserPart::Copied, pass.changed_sleepers[i].copied});
  trace_.put(kCopied, std::as_bytes(std::span(copied)));
}

bool RecordingInput::recheck(std::size_t count) {
  const bool works = input_->recheck(count);
  const auto threads = std::span(input_->recheck_buffer(), works ? count : 0);
  trace_.put(kRechecked, std::as_bytes(threads));
  return works;
}

ReplayedInput::ReplayedInput(const Trace& trace, Cursor& cursor)
    : cursor_(cursor), buffer_(trace.number("can_recheck") != 0 ? RECHECK_MAX_THREADS : 0) {
  trace.require_layouts(kLayouts);
}

void ReplayedInput::begin(std::uint32_t round) {
  if (cursor_.next(kPass).as<std::uint64_t>() != round) throw BadTrace("a pass of another round");
}

std::size_t ReplayedInput::read(std::span<std::byte> buffer) {
  const Bytes chunk = cursor_.next(kChunk).bytes;
  if (chunk.size() > buffer.size())
    throw BadTrace("the buffer of the recorder is smaller than a recorded chunk");
  if (!chunk.empty()) std::memcpy(buffer.data(), chunk.data(), chunk.size());
  return chunk.size();
}

void ReplayedInput::copy(sleepers::Pass& pass, std::span<const std::uint32_t> sleepers) {
  const Bytes bytes = cursor_.next(kCopied).bytes;
  if (bytes.size() != sleepers.size() * sizeof(CopyResult))
    throw BadTrace("other sleepers are copied");
  for (std::size_t i = 0; i < sleepers.size(); ++i) {
    CopyResult copied;
    std::memcpy(&copied, bytes.data() + i * sizeof copied, sizeof copied);
    if (copied.sleeper != sleepers[i]) throw BadTrace("other sleepers are copied");
    sleepers::Sleeper& sleeper = pass.changed_sleepers[copied.sleeper];
    sleeper.user = copied.is_copied != 0 ? UserPart::Copied : UserPart::Unavailable;
    sleeper.copy_offset = pass.copied;
    sleeper.copied = copied.bytes;
    std::memset(pass.copies.reserve(pass.copied, copied.bytes), pattern_of(sleeper.tid),
                copied.bytes);
    pass.copied += copied.bytes;
  }
}

bool ReplayedInput::recheck(std::size_t count) {
  const Bytes bytes = cursor_.next(kRechecked).bytes;
  if (bytes.empty()) return false;
  if (bytes.size() != count * sizeof(::recheck_entry))
    throw BadTrace("other threads are checked again");
  for (std::size_t i = 0; i < count; ++i) {
    ::recheck_entry read;
    std::memcpy(&read, bytes.data() + i * sizeof read, sizeof read);
    if (read.tid != buffer_[i].tid || read.start_boottime != buffer_[i].start_boottime ||
        read.switches != buffer_[i].switches)
      throw BadTrace("other threads are checked again");
    buffer_[i] = read;
  }
  return true;
}

}  // namespace ctprof::recorded::sleepers_trace

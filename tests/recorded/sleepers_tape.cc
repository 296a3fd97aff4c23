#include "tests/recorded/sleepers_tape.hpp"

#include <cstddef>
#include <cstring>
#include <utility>

namespace ctprof::recorded::sleepers_tape {

using sleepers::UserPart;

// Layout version 1.
static_assert(LOOK_FIXED == 112 && sizeof(::look) == 112 + 128 * 8 && sizeof(::look_head) == 24);
static_assert(offsetof(::look, switches) == 24 && offsetof(::look, memory) == 32 &&
              offsetof(::look, ip) == 72 && offsetof(::look, frames) == 104);
static_assert(offsetof(::rechecked, found) == 4 && offsetof(::rechecked, look) == 24);

RecordingInput::RecordingInput(std::unique_ptr<sleepers::LookInput> input, TapeWriter& tape)
    : input_(std::move(input)), tape_(tape) {
  tape_.add_layouts(kLayouts);
  tape_.add_fact("can_recheck", std::to_string(input_->recheck_room() != nullptr));
}

void RecordingInput::begin(std::uint32_t round) {
  tape_.put_value(kPass, std::uint64_t{round});
  input_->begin(round);
}

std::size_t RecordingInput::read(std::span<std::byte> room) {
  const std::size_t got = input_->read(room);
  tape_.put(kChunk, room.first(got));
  return got;
}

void RecordingInput::copy(sleepers::Pass& pass, std::span<const std::uint32_t> sleepers) {
  input_->copy(pass, sleepers);
  std::vector<Copied> copied;
  for (const std::uint32_t i : sleepers)
    copied.push_back({i, pass.fresh[i].user == UserPart::Copied, pass.fresh[i].copied});
  tape_.put(kCopied, std::as_bytes(std::span(copied)));
}

bool RecordingInput::recheck(std::size_t count) {
  const bool works = input_->recheck(count);
  const auto threads = std::span(input_->recheck_room(), works ? count : 0);
  tape_.put(kRechecked, std::as_bytes(threads));
  return works;
}

ReplayedInput::ReplayedInput(const Tape& tape, Cursor& cursor)
    : cursor_(cursor), room_(tape.number("can_recheck") != 0 ? RECHECK_MOST : 0) {
  tape.require_layouts(kLayouts);
}

void ReplayedInput::begin(std::uint32_t round) {
  if (cursor_.next(kPass).as<std::uint64_t>() != round) throw BadTape("a pass of another round");
}

std::size_t ReplayedInput::read(std::span<std::byte> room) {
  const Bytes chunk = cursor_.next(kChunk).bytes;
  if (chunk.size() > room.size()) throw BadTape("the looker has less room");
  if (!chunk.empty()) std::memcpy(room.data(), chunk.data(), chunk.size());
  return chunk.size();
}

void ReplayedInput::copy(sleepers::Pass& pass, std::span<const std::uint32_t> sleepers) {
  const Bytes bytes = cursor_.next(kCopied).bytes;
  if (bytes.size() != sleepers.size() * sizeof(Copied)) throw BadTape("other sleepers are copied");
  for (std::size_t i = 0; i < sleepers.size(); ++i) {
    Copied copied;
    std::memcpy(&copied, bytes.data() + i * sizeof copied, sizeof copied);
    if (copied.sleeper != sleepers[i]) throw BadTape("other sleepers are copied");
    sleepers::Sleeper& sleeper = pass.fresh[copied.sleeper];
    sleeper.user = copied.is_copied != 0 ? UserPart::Copied : UserPart::Lacking;
    sleeper.copy_at = pass.copied;
    sleeper.copied = copied.bytes;
    std::memset(pass.copies.room(pass.copied, copied.bytes), pattern_of(sleeper.tid), copied.bytes);
    pass.copied += copied.bytes;
  }
}

bool ReplayedInput::recheck(std::size_t count) {
  const Bytes bytes = cursor_.next(kRechecked).bytes;
  if (bytes.empty()) return false;
  if (bytes.size() != count * sizeof(::rechecked)) throw BadTape("others are looked at again");
  for (std::size_t i = 0; i < count; ++i) {
    ::rechecked read;
    std::memcpy(&read, bytes.data() + i * sizeof read, sizeof read);
    if (read.tid != room_[i].tid || read.start_boottime != room_[i].start_boottime ||
        read.switches != room_[i].switches)
      throw BadTape("others are looked at again");
    room_[i] = read;
  }
  return true;
}

}  // namespace ctprof::recorded::sleepers_tape

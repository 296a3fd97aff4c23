#include "tests/recorded/task_iter_tape.hpp"

#include <cstddef>
#include <utility>

namespace ctprof::recorded::task_iter_tape {
namespace {

// Layout version 1.
static_assert(RECORD_FIXED == 776 && ENDED_THREAD_SIZE == 808);
static_assert(offsetof(ended_thread, maxrss) == 8 && offsetof(ended_thread, pcomm) == 16 &&
              offsetof(ended_thread, task) == 32);
static_assert(sizeof(ended_exec) == 24 && sizeof(ended_birth) == 16 &&
              sizeof(ended_cgroup) == 16 + 16 * 128);

template <class Record>
const Record& as(Bytes bytes) {
  return *reinterpret_cast<const Record*>(bytes.data());
}

}  // namespace

RecordingInput::RecordingInput(std::unique_ptr<task_iter::EndsInput> input, TapeWriter& tape)
    : input_(std::move(input)), tape_(tape) {
  tape_.add_layouts(kLayouts);
}

void RecordingInput::start(std::uint32_t command) {
  tgids_.insert(command);
  input_->start(command);
}

void RecordingInput::read(const Take& take) {
  input_->read([&](Bytes bytes) {
    keep(bytes);
    return take(bytes);
  });
}

void RecordingInput::keep(Bytes bytes) {
  switch (as<std::uint32_t>(bytes)) {
    case ENDED_THREAD: return keep_thread(bytes);
    case ENDED_BIRTH: tgids_.insert(as<ended_birth>(bytes).tgid); return tape_.put(kRecord, bytes);
    case ENDED_EXEC:
      if (tgids_.contains(as<ended_exec>(bytes).tgid)) tape_.put(kRecord, bytes);
      return;
    case ENDED_CGROUP:
      cgroups_[as<ended_cgroup>(bytes).id].assign(bytes.begin(), bytes.end());
      return;
    default: return;
  }
}

void RecordingInput::keep_thread(Bytes bytes) {
  const auto& task = as<ended_thread>(bytes).task;
  if ((task.of & RECORD_OF_COMMAND) == 0) return;
  if (const auto cgroup = cgroups_.extract(task.cgroup_id); !cgroup.empty())
    tape_.put(kRecord, cgroup.mapped());
  tape_.put(kRecord, bytes);
}

std::uint64_t RecordingInput::lost() const {
  const std::uint64_t lost = input_->lost();
  tape_.put_value(kLost, lost);
  return lost;
}

ReplayedInput::ReplayedInput(const Tape& tape, Cursor& cursor) : cursor_(cursor) {
  tape.require_layouts(kLayouts);
}

void ReplayedInput::read(const Take& take) {
  while (!cursor_.is_at_end() && cursor_.peek().kind == kRecord)
    if (!take(cursor_.next().bytes)) throw BadTape("the core has no room for a row");
}

std::uint64_t ReplayedInput::lost() const { return cursor_.next(kLost).as<std::uint64_t>(); }

}  // namespace ctprof::recorded::task_iter_tape

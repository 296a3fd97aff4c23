#include "tests/recorded/task_iter_trace.hpp"

#include <cstddef>
#include <utility>

namespace ctprof::recorded::task_iter_trace {
namespace {

// Layout version 1.
static_assert(RECORD_FIXED == 776 && EXIT_RECORD_THREAD_SIZE == 808);
static_assert(offsetof(exit_record_thread, maxrss) == 8 &&
              offsetof(exit_record_thread, pcomm) == 16 &&
              offsetof(exit_record_thread, task) == 32);
static_assert(sizeof(exit_record_exec) == 24 && sizeof(exit_record_fork) == 16 &&
              sizeof(exit_record_cgroup) == 16 + 16 * 128);

template <class Record>
const Record& cast_record(Bytes bytes) {
  return *reinterpret_cast<const Record*>(bytes.data());
}

}  // namespace

RecordingInput::RecordingInput(std::unique_ptr<task_iter::ExitInput> input, TraceWriter& trace)
    : input_(std::move(input)), trace_(trace) {
  trace_.add_layouts(kLayouts);
}

void RecordingInput::start(std::uint32_t command) {
  tgids_.insert(command);
  input_->start(command);
}

void RecordingInput::read(const RecordCallback& take) {
  input_->read([&](Bytes bytes) {
    record_if_wanted(bytes);
    return take(bytes);
  });
}

void RecordingInput::record_if_wanted(Bytes bytes) {
  switch (cast_record<std::uint32_t>(bytes)) {
    case EXIT_RECORD_THREAD: return record_thread(bytes);
    case EXIT_RECORD_FORK:
      tgids_.insert(cast_record<exit_record_fork>(bytes).tgid);
      return trace_.put(kRecord, bytes);
    case EXIT_RECORD_EXEC:
      if (tgids_.contains(cast_record<exit_record_exec>(bytes).tgid)) trace_.put(kRecord, bytes);
      return;
    case EXIT_RECORD_CGROUP:
      cgroups_[cast_record<exit_record_cgroup>(bytes).id].assign(bytes.begin(), bytes.end());
      return;
    default: return;
  }
}

void RecordingInput::record_thread(Bytes bytes) {
  const auto& task = cast_record<exit_record_thread>(bytes).task;
  if ((task.properties & RECORD_OF_COMMAND) == 0) return;
  if (const auto cgroup = cgroups_.extract(task.cgroup_id); !cgroup.empty())
    trace_.put(kRecord, cgroup.mapped());
  trace_.put(kRecord, bytes);
}

std::uint64_t RecordingInput::lost_count() const {
  const std::uint64_t lost = input_->lost_count();
  trace_.put_value(kLost, lost);
  return lost;
}

ReplayedInput::ReplayedInput(const Trace& trace, Cursor& cursor) : cursor_(cursor) {
  trace.require_layouts(kLayouts);
}

void ReplayedInput::read(const RecordCallback& take) {
  while (!cursor_.is_at_end() && cursor_.peek().kind == kRecord)
    if (!take(cursor_.next().bytes)) throw BadTrace("the core has no space for a row");
}

std::uint64_t ReplayedInput::lost_count() const { return cursor_.next(kLost).as<std::uint64_t>(); }

}  // namespace ctprof::recorded::task_iter_trace

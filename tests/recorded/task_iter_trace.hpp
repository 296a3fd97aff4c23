// Records the exit records of the plugin task-iter on trace, and replays them.
//
// A drain is kDrain, kRecord for each record, and kLost. A trace contains only descendants of the
// workload, and only cgroups that contained them.

#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "plugins/task-iter/exit_input.hpp"
#include "plugins/task-iter/exit_records.h"
#include "tests/recorded/trace.hpp"

namespace ctprof::recorded::task_iter_trace {

enum Kind : std::uint32_t {
  kStart = kFirstOfPlugin,  // the core starts the source
  kDrain,                   // ... drains it; records follow
  kStop,                    // ... stops it
  kRecord,                  // a struct of exit_records.h
  kLost                     // std::uint64_t
};

// Raise a version when its structure changes; tests then convert older traces.
inline constexpr std::array kLayouts{Layout{"ended_thread", 1, EXIT_RECORD_THREAD_SIZE},
                                     Layout{"ended_exec", 1, sizeof(exit_record_exec)},
                                     Layout{"ended_cgroup", 1, sizeof(exit_record_cgroup)},
                                     Layout{"ended_birth", 1, sizeof(exit_record_fork)}};

// Forwards and records all calls. `trace` must outlive this object.
class RecordingInput final : public task_iter::ExitInput {
 public:
  RecordingInput(std::unique_ptr<task_iter::ExitInput> input, TraceWriter& trace);

  void start(std::uint32_t command) override;
  void stop() override { input_->stop(); }
  void read(const RecordCallback& take) override;
  std::uint64_t lost_count() const override;

 private:
  void record_if_wanted(Bytes bytes);
  void record_thread(Bytes bytes);

  std::unique_ptr<task_iter::ExitInput> input_;
  TraceWriter& trace_;
  std::set<std::uint32_t> tgids_;                            // of descendants
  std::map<std::uint64_t, std::vector<std::byte>> cgroups_;  // not recorded yet, by id
};

// Returns the recorded answers.
class ReplayedInput final : public task_iter::ExitInput {
 public:
  ReplayedInput(const Trace& trace, Cursor& cursor);

  void start(std::uint32_t) override {}
  void stop() override {}
  void read(const RecordCallback& take) override;
  std::uint64_t lost_count() const override;

 private:
  Cursor& cursor_;
};

}  // namespace ctprof::recorded::task_iter_trace

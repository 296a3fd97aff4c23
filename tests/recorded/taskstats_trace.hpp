// Records the exit messages of the plugin taskstats on trace, and replays them.
//
// A drain is kDrain; kMessages, kMessage for each message, and kClock, until a read is empty; and
// kLost. A trace contains only threads of the workload's process and its children.

#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "plugins/taskstats/exit_input.hpp"
#include "tests/recorded/trace.hpp"

namespace ctprof::recorded::taskstats_trace {

enum Kind : std::uint32_t {
  kStart = kFirstOfPlugin,  // the core starts the source
  kDrain,                   // ... drains it
  kStop,                    // ... stops it
  kMessages,                // a read; messages follow
  kMessage,                 // a datagram
  kClock,                   // std::uint64_t, CLOCK_BOOTTIME
  kLost                     // std::uint64_t
};

// struct taskstats contains its own version; this is the size of the framing around it.
inline constexpr std::array kLayouts{Layout{"taskstats_message", 1, 20}};

// Forwards and records all calls. `trace` must outlive this object.
class RecordingInput final : public taskstats::ExitInput {
 public:
  // `pid`: the process id of the workload.
  RecordingInput(std::unique_ptr<taskstats::ExitInput> input, std::uint64_t pid,
                 TraceWriter& trace);

  std::uint64_t now_ns(clockid_t clock) const override;
  taskstats::SocketError open() override;
  taskstats::SocketError listen(const std::string& cpus) override { return input_->listen(cpus); }
  void stop_listening() override { input_->stop_listening(); }
  std::uint16_t family() const override { return input_->family(); }
  std::span<const Bytes> receive_exit_messages() override;
  std::uint64_t lost_count() const override;

 private:
  bool is_of_workload(Bytes message) const;

  std::unique_ptr<taskstats::ExitInput> input_;
  std::uint64_t pid_;
  TraceWriter& trace_;
  bool has_only_others_ = false;  // the last read contained only messages of others
};

// Returns the recorded answers, and checks that the source makes the recorded calls.
class ReplayedInput final : public taskstats::ExitInput {
 public:
  ReplayedInput(const Trace& trace, Cursor& cursor);

  std::uint64_t now_ns(clockid_t clock) const override;
  taskstats::SocketError open() override { return {}; }
  taskstats::SocketError listen(const std::string&) override { return {}; }
  void stop_listening() override {}
  std::uint16_t family() const override { return family_; }
  std::span<const Bytes> receive_exit_messages() override;
  std::uint64_t lost_count() const override;

 private:
  Cursor& cursor_;
  std::uint16_t family_;
  std::vector<Bytes> messages_;
};

}  // namespace ctprof::recorded::taskstats_trace

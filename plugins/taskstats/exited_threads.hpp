// The source of threads that exit while a window is open, for hosts without BPF.
//
// Source: the message that the kernel sends over generic netlink, family TASKSTATS, when a thread
// exits (TASKSTATS_CMD_ATTR_REGISTER_CPUMASK). The kernel sends it before the exit is complete: the
// values do not include the time from then until the last switch. The message has no start time.
// The source computes it from the time of arrival and the age of the thread. The message has no
// cgroup, and its byte counters are rounded. README.md has the details.
//
// See also: socket.hpp for the socket, decode.hpp for the struct, probe.hpp for the probe.

#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ctprof/plugin.hpp"
#include "plugins/taskstats/columns.hpp"
#include "plugins/taskstats/decode.hpp"
#include "plugins/taskstats/exit_input.hpp"
#include "plugins/taskstats/probe.hpp"
#include "plugins/taskstats/socket.hpp"

namespace ctprof::taskstats {

class ExitedThreads : public sdk::ExitedSource {
 public:
  static constexpr const char* kName = "ends";
  static constexpr std::int32_t kRank = 10;  // after BPF
  static constexpr auto kOffers = sdk::joined(
      ExitedThreadMetrics::kOffers,
      sdk::offers(sdk::kTgid, sdk::kTid, sdk::kComm, sdk::kPcomm, sdk::kParent, sdk::kStartTime,
                  sdk::kStartWithin, sdk::kEndedAt, sdk::kBytesRounded));

  explicit ExitedThreads(const sdk::Host& host) : ExitedThreads(host, std::make_unique<Socket>()) {}
  ExitedThreads(const sdk::Host& host, std::unique_ptr<ExitInput> input)
      : host_(host), input_(std::move(input)) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    probe_exit_messages(host, probe, kFields);
  }

  void start(const sdk::Window& window);
  void drain(const sdk::Listing& listing);
  void stop() { input_->stop_listening(); }

 private:
  struct Columns;
  using Rows = sdk::ListedRows<Columns>;
  // The interval, on CLOCK_BOOTTIME, in which all messages of one call arrived.
  struct Interval {
    std::uint64_t first_ns, last_ns;
  };

  bool add_exit(Rows& rows, const Exit& exit, const Interval& interval);
  void write_row(Rows& rows, const Exit& exit, const ThreadIdentity& identity,
                 const Interval& interval);

  sdk::Host host_;
  std::vector<std::uint64_t> pids_;  // sorted; empty: all
  std::unique_ptr<ExitInput> input_;
  Layout layout_{0, 0};
  std::uint64_t last_drain_ns_ = 0;
  std::uint64_t reported_lost_ = 0;
};

}  // namespace ctprof::taskstats

// Tracks the processes of a window for its recorders: which are requested, whose code is known, and
// which files they map.
//
// Threads: used by one thread at a time.

#pragma once

#include <chrono>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/seeded_hash.hpp"
#include "core/capture/mapped_code.hpp"
#include "core/capture/own_processes.hpp"
#include "core/capture/pinned_files.hpp"
#include "core/capture/requested_processes.hpp"
#include "core/stacks/debug_files.hpp"

namespace ctprof {

class RecorderProcesses {
 public:
  // `has_extra_rights`: as in OwnProcesses.
  RecorderProcesses(RequestedProcesses requested, int proc, std::chrono::milliseconds timeout,
                    bool has_extra_rights = has_elevated_rights())
      : requested_processes_(std::move(requested)),
        own_processes_(proc, has_extra_rights),
        files_(proc, timeout),
        code_(proc, timeout, make_pin_callback()) {}

  const RequestedProcesses& requested_processes() const { return requested_processes_; }
  bool is_requested(std::uint64_t tgid) { return requested_processes_.contains(tgid); }
  // Determines, on the first stack of a process, whether the user may inspect it, because that is
  // unknown after its exit.
  void note_access(std::uint64_t tgid) { own_processes_.find_access(tgid); }
  // Requests the code of a process on its first record.
  void request_code(std::uint64_t tgid) {
    if (code_requested_.insert(tgid).second) code_.request(tgid);
  }
  // Requests the code again, because the known mappings are outdated.
  void request_code_again(std::uint64_t tgid) {
    code_requested_.insert(tgid);
    const std::uint64_t now = boottime_ns();
    std::uint64_t& last_request_ns = last_requests_[tgid];
    if (now - last_request_ns >= kRequestIntervalNs) code_.request(tgid), last_request_ns = now;
  }
  // Returns whether the change is to be recorded. A new process has the mappings of its parent; a
  // process that runs another program reports all its new mappings.
  bool handle_change(const ctprof_change& change) {
    if (change.kind == CTPROF_CHANGE_FORKED)
      requested_processes_.add_forked(change.tgid, change.parent);
    const bool is_requested_process = requested_processes_.contains(change.tgid);
    if (is_requested_process && change.kind == CTPROF_CHANGE_FORKED) request_code(change.parent);
    if (is_requested_process && change.kind == CTPROF_CHANGE_MAPPED)
      files_.request(change.tgid, to_mapping(change));
    if (is_requested_process && change.kind == CTPROF_CHANGE_REMAPPED)
      request_code_again(change.tgid);
    if (change.kind == CTPROF_CHANGE_FORKED || change.kind == CTPROF_CHANGE_EXECED)
      code_requested_.insert(change.tgid);
    if (change.kind == CTPROF_CHANGE_ENDED) {
      code_requested_.erase(change.tgid);
      last_requests_.erase(change.tgid);
      requested_processes_.forget_exited(change.tgid);
    }
    return is_requested_process;
  }
  // Takes mappings before the files that they refer to.
  void take(RecordedWindow& window) {
    code_requested_.clear();
    last_requests_.clear();
    MappedCode::Batch code = code_.take();
    window.code = std::move(code.processes);
    window.unreadable_processes = code.unreadable;
    window.files = files_.take();
    window.own_processes = own_processes_.take_own();
  }

 private:
  // Minimum time between two readings of one process's mappings, in ns: each one costs CPU time,
  // and a process may change its mappings continuously.
  static constexpr std::uint64_t kRequestIntervalNs = 100'000'000;

  // Pins the files as soon as the mappings have been read, before the files can change.
  MappedCode::OnRead make_pin_callback() const {
    return [request = files_.request_function()](const ProcessCode& code) {
      for (const Mapping& mapping : code.mappings) request(code.tgid, mapping);
    };
  }

  RequestedProcesses requested_processes_;
  OwnProcesses own_processes_;
  PinnedFiles files_;
  MappedCode code_;
  // Processes whose code is known or requested.
  std::unordered_set<std::uint64_t, SeededHash> code_requested_;
  std::unordered_map<std::uint64_t, std::uint64_t, SeededHash> last_requests_;  // last request
};

}  // namespace ctprof

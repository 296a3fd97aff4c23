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
#include "core/capture/pinned_files.hpp"
#include "core/capture/records.hpp"
#include "core/capture/wanted_processes.hpp"

namespace ctprof {

class Records::Processes {
 public:
  Processes(WantedProcesses wanted, int proc, std::chrono::milliseconds patience)
      : wanted_(std::move(wanted)), files_(proc, patience), code_(proc, patience, want_files()) {}

  const WantedProcesses& wanted() const { return wanted_; }
  bool is_wanted(std::uint64_t tgid) { return wanted_.has(tgid); }
  // Requests the code of a process on its first record.
  void meet(std::uint64_t tgid) {
    if (met_.insert(tgid).second) code_.want(tgid);
  }
  // Requests the code again, because the known mappings are outdated.
  void meet_again(std::uint64_t tgid) {
    met_.insert(tgid);
    const std::uint64_t now = boottime_ns();
    std::uint64_t& last = read_again_[tgid];
    if (now - last >= kReadAgainEvery) code_.want(tgid), last = now;
  }
  // Returns whether the change is to be recorded. A new process has the mappings of its parent; a
  // process that runs another program reports all its new mappings.
  bool note(const ctprof_change& change) {
    if (change.kind == CTPROF_CHANGE_FORKED) wanted_.forked(change.tgid, change.parent);
    const bool wanted = wanted_.has(change.tgid);
    if (wanted && change.kind == CTPROF_CHANGE_FORKED) meet(change.parent);
    if (wanted && change.kind == CTPROF_CHANGE_MAPPED) files_.want(change.tgid, mapping_of(change));
    if (wanted && change.kind == CTPROF_CHANGE_REMAPPED) meet_again(change.tgid);
    if (change.kind == CTPROF_CHANGE_FORKED || change.kind == CTPROF_CHANGE_EXECED)
      met_.insert(change.tgid);
    if (change.kind == CTPROF_CHANGE_ENDED) {
      met_.erase(change.tgid);
      read_again_.erase(change.tgid);
      wanted_.ended(change.tgid);
    }
    return wanted;
  }
  // Takes mappings before the files that they refer to.
  void take(RecordedWindow& window) {
    met_.clear();
    read_again_.clear();
    MappedCode::Taken code = code_.take();
    window.code = std::move(code.processes);
    window.unknown = code.unknown;
    window.files = files_.take();
  }

 private:
  // Minimum time between two readings of one process's mappings, in ns: each one costs CPU time,
  // and a process may change its mappings continuously.
  static constexpr std::uint64_t kReadAgainEvery = 100'000'000;

  // Pins the files as soon as the mappings have been read, before the files can change.
  MappedCode::Seen want_files() const {
    return [want = files_.wanter()](const ProcessCode& code) {
      for (const Mapping& mapping : code.mappings) want(code.tgid, mapping);
    };
  }

  WantedProcesses wanted_;
  PinnedFiles files_;
  MappedCode code_;
  std::unordered_set<std::uint64_t, SeededHash> met_;  // whose code is known or requested
  std::unordered_map<std::uint64_t, std::uint64_t, SeededHash> read_again_;  // last request
};

}  // namespace ctprof

// What the recorders of a window know of processes: which of them are wanted, whose code is known,
// and the files that they map.
//
// Threads: one at a time.

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
  // It runs code of its own, which is to be known.
  void meet(std::uint64_t tgid) {
    if (met_.insert(tgid).second) code_.want(tgid);
  }
  // What is known of its code is not true any more.
  void meet_again(std::uint64_t tgid) {
    met_.insert(tgid);
    const std::uint64_t now = boottime_ns();
    std::uint64_t& last = read_again_[tgid];
    if (now - last >= kReadAgainEvery) code_.want(tgid), last = now;
  }
  // Whether anybody wants to know. A new process has what its parent had; one that runs another
  // program tells of all that it maps.
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
  // Mappings before the files that they are of.
  void take(RecordedWindow& window) {
    met_.clear();
    read_again_.clear();
    MappedCode::Taken code = code_.take();
    window.code = std::move(code.processes);
    window.unknown = code.unknown;
    window.files = files_.take();
  }

 private:
  // How soon a process's mappings are read again: each time costs us, and somebody may change them
  // all the time.
  static constexpr std::uint64_t kReadAgainEvery = 100'000'000;

  // Before anybody writes to them.
  MappedCode::Seen want_files() const {
    return [want = files_.wanter()](const ProcessCode& code) {
      for (const Mapping& mapping : code.mappings) want(code.tgid, mapping);
    };
  }

  WantedProcesses wanted_;
  PinnedFiles files_;
  MappedCode code_;
  std::unordered_set<std::uint64_t, SeededHash> met_;  // whose code is known, or asked for
  std::unordered_map<std::uint64_t, std::uint64_t, SeededHash> read_again_;  // and when
};

}  // namespace ctprof

// A session: what happens between the moment somebody wants to look at a host and the moment they
// have what they saw.
//
//   auto session = Session::open(registry, options);   // what this host can do, who will fill what
//   session->begin();
//   while (...) session->drain();                      // in between: what recorders have gathered
//   Result<Snapshot> snapshot = session->end();
//
// A capture is a session whose begin is its end: `end` hands over what `begin` read. No source of
// this version records in between, so that `drain` has nothing to take in yet.
//
// The registry does not change, and any number of sessions, one after the other or side by side,
// may share one. Each asks the host anew.
//
// Used by one thread. `begin`, `drain` and `end` fail where /proc cannot be read; a thread that
// went, or a file that was denied, is a gap and no failure.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/capture/roots.hpp"
#include "core/registry/plan.hpp"
#include "core/registry/probed.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

struct CaptureOptions {
  std::string rootfs;  // /proc, /sys and cgroup are looked for under it; empty: the host's own
  std::vector<std::uint64_t> pids;                  // only these processes; none: all
  std::optional<std::vector<std::string>> metrics;  // only these; none: all
  unsigned jobs = 0;                                // workers; 0: as many as the host can spare
  bool hostname = true;                             // whether the snapshot bears the host's name
};

class Session {
 public:
  // Finds the roots and the processes that are asked for, opens every plugin and asks every source.
  // Fails where there is no /proc, or no such process. REQUIRES: the registry outlives the session.
  static Result<Session> open(const Registry& registry, CaptureOptions options);

  // Plans, and reads all that is planned; fails where no plugin has a metric that is asked for. A
  // source that was to list the threads and gives up is left out, and the host is read again
  // without it.
  Result<void> begin();
  Result<void> drain();
  // REQUIRES: begun, and not ended.
  Result<Snapshot> end();

  // Sources that did not take part, though their plugins are loaded, and why.
  const std::vector<Refusal>& refused() const { return refused_; }

 private:
  Session(const Registry& registry, CaptureOptions options, Roots roots);

  CaptureOptions options_;
  std::unique_ptr<const Roots>
      roots_;  // stays where it is: the plugins' view of the host points into it
  Probed probed_;
  std::optional<Snapshot> read_;
  std::vector<Refusal> refused_;
};

}  // namespace ctprof

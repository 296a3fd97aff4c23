// Builds the reports of windows in the history, as `show` and `compare` would print them, and lists
// the threads of one group.
//
// Threads: one.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/report/report.hpp"
#include "core/compare/request/spec.hpp"
#include "core/registry/registry.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/live/history.hpp"

namespace ctprof::live {

// Identifies a thread during its lifetime. Ids without the start time are reused.
struct ThreadId {
  std::uint64_t tgid = 0, tid = 0, start = 0;
  auto operator<=>(const ThreadId&) const = default;
};

struct ThreadRow {
  ThreadId id;
  std::string name;             // as reported by the kernel
  std::string state;            // empty: unknown
  bool is_started = false;      // started inside the window
  bool has_exited = false;      // exited inside the window
  bool is_kernel = false;       // a kernel thread
  std::vector<double> figures;  // by column of the screen, in its units; NaN: unknown
};

class WindowReporter {
 public:
  // `spec`: the report's options, except the axis. REQUIRES: the registry outlives this object.
  WindowReporter(const Registry& registry, std::span<const std::string> recorders, Spec spec);

  // Returns the window as it was written, for joining or reporting.
  Result<Snapshot> load(const Sample& sample) const;
  // Does the same, and computes the differences.
  Result<Snapshot> differences(const Sample& sample) const;
  // Reports on one window, or compares two. REQUIRES: windows with computed differences.
  Result<Report> report(std::span<const Snapshot* const> windows, GroupBy axis) const;
  // Returns the threads of the window that belong to the group with that name, unordered. Their
  // figures are those of the report's screen columns. REQUIRES: a report of only that window, with
  // that axis.
  std::vector<ThreadRow> threads(const Snapshot& window, const Report& report, GroupBy axis,
                                 const std::string& group) const;

 private:
  const Registry* registry_;
  std::vector<DerivedDef> derived_;
  Spec spec_;
};

// Returns the row of the thread, or none if the window does not contain it.
std::optional<std::uint32_t> find_row(const Snapshot& window, const ThreadId& thread);

}  // namespace ctprof::live

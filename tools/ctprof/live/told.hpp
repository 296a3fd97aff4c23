// What is told of windows of a history: the report that `show` or `compare` would make of them,
// and the threads of one of its groups.
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
#include "core/compare/asked/spec.hpp"
#include "core/compare/report/report.hpp"
#include "core/registry/registry.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tools/ctprof/live/history.hpp"

namespace ctprof::live {

// A thread for as long as it lives; numbers alone are given away again.
struct ThreadId {
  std::uint64_t tgid = 0, tid = 0, start = 0;
  auto operator<=>(const ThreadId&) const = default;
};

struct ThreadRow {
  ThreadId id;
  std::string name;             // as the system has it
  std::string state;            // empty: not known
  bool is_born = false;         // inside of the window
  bool has_ended = false;       // likewise
  bool is_kernel = false;       // a thread of the kernel
  std::vector<double> figures;  // by column of the screen, as that has them; NaN: not known
};

class Teller {
 public:
  // `spec`: what else is asked, but for its axis. REQUIRES: the registry outlives this.
  Teller(const Registry& registry, std::span<const std::string> recorders, Spec spec);

  // The window as it was written: to be joined with others, or told.
  Result<Snapshot> load(const Sample& sample) const;
  // The same, made of differences.
  Result<Snapshot> differences(const Sample& sample) const;
  // Of one window, or of two that are compared. REQUIRES: they are made of differences.
  Result<Report> report(std::span<const Snapshot* const> windows, GroupBy axis) const;
  // The threads of the window that are in the group of that name, in no order, by the columns of
  // the report's screen. REQUIRES: a report of that window alone, by that axis.
  std::vector<ThreadRow> threads(const Snapshot& window, const Report& report, GroupBy axis,
                                 const std::string& group) const;

 private:
  const Registry* registry_;
  std::vector<DerivedDef> derived_;
  Spec spec_;
};

// The row of the thread, if the window has it.
std::optional<std::uint32_t> row_of(const Snapshot& window, const ThreadId& thread);

}  // namespace ctprof::live

// Facts of a run besides its metric values: host, time and settings of the capture. For a window
// also its thread counts, CPU accounting and changed settings. Also compares the hosts of two runs.

#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/number.hpp"
#include "core/snapshot/snapshot.hpp"
#include "core/window/accounting.hpp"
#include "core/window/host_load.hpp"

namespace ctprof {

// The value of a setting: a number, or only a text. The text is always set, for people.
struct SettingValue {
  ctprof_number number{};
  std::string text;
};

// A setting that changed while a window was open. Combines all rows with the same name in which the
// setting changed in the same way.
struct SettingChange {
  std::string metric;
  Entity entity = Entity::Thread;
  std::string name;  // a pattern of thread names, a process name or a cgroup path; "" for the host
  SettingValue before, after;
  std::uint64_t rows = 0;
};

// Facts of a whole window.
struct WindowFacts {
  std::uint64_t length_ns = 0;
  // The duration by which rates are computed: the mean time between both readings of threads, or
  // the length of the window if that is unknown.
  double rates_over_ns = 0;
  WindowRows rows;
  std::uint64_t lost = 0, unseen = 0, merged = 0;  // as in Window
  bool records_exits = false, is_partial = false;
  std::size_t denied_metrics = 0;  // columns that no source filled, because of missing privileges
  std::optional<Accounting> accounting;
  HostLoad load;
  std::vector<SettingChange> settings;  // sorted by the number of rows, largest first
  std::size_t settings_omitted = 0;     // rows whose changes are not in `settings`
  std::vector<std::string> notes;
};

// A copy of the facts, which outlives the snapshot.
struct RunFacts {
  Meta meta;
  std::optional<RawJson> host;  // the host's context, if the file has one
  std::size_t text_bytes = 0;   // of the file it was read from; 0 if there is none
  std::array<std::size_t, kEntities> rows{};
  // The names of the columns that identify the rows of entities of plugins.
  std::array<std::vector<std::string>, kEntities> identity_columns{};
  std::optional<WindowFacts> window;

  std::size_t threads() const { return rows[static_cast<std::size_t>(Entity::Thread)]; }
  std::size_t processes() const { return rows[static_cast<std::size_t>(Entity::Process)]; }
};

// Returns the duration by which the window's rates are computed (WindowFacts::rates_over_ns).
double rates_over_ns(const Snapshot& snapshot);

// Returns the members of a host's context by their dotted names, each as JSON. An object whose
// dotted name would be too long is one member. Returns no value if the context is not an object.
using HostMembers = std::map<std::string, std::string>;
std::optional<HostMembers> host_members(const RawJson& context);

// REQUIRES: a window already contains differences (core/window/differences.hpp).
RunFacts collect_run_facts(const Snapshot& snapshot);

// Returns the host's memory in bytes; no value if the context lacks it.
std::optional<double> host_memory_bytes(const RunFacts& run);

// A value of a member of the host's context, and the number of runs of a side that have it.
struct HostValue {
  std::optional<std::string> json;  // no value if the context lacks the member
  std::size_t runs = 0;
};

// A member of the host contexts (kernel, command line, tunables, CPU, memory), by its dotted name,
// that is not equal in all runs of two sides: it differs between the sides or within one. Each
// value of a side is listed once, in the order of its runs.
struct HostDifference {
  std::string key;
  std::vector<HostValue> baseline, candidate;
};

// Returns the differences in the order of their keys; no value if any file has no context.
std::optional<std::vector<HostDifference>> host_differences(std::span<const RunFacts> baseline,
                                                            std::span<const RunFacts> candidate);

}  // namespace ctprof

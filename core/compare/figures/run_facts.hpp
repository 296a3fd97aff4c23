// What is known of a run beside its figures: who captured it, when and where; of a window, who came
// and went, who used the CPUs, and which settings changed; and how the hosts of two runs differ.

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

// What a setting is: a number, or a text where it is none. The text is for people in any case.
struct SettingValue {
  ctprof_number number{};
  std::string text;
};

// A setting that somebody changed while a window was open, of all rows of one name for which it
// changed in the same way.
struct SettingChange {
  std::string metric;
  Entity entity = Entity::Thread;
  std::string
      name;  // a pattern of the threads' names, a process's, a cgroup's path; of the host ""
  SettingValue before, after;
  std::uint64_t rows = 0;
};

// A window as a whole.
struct WindowFacts {
  std::uint64_t length_ns = 0;
  // What figures per second are taken over: the mean time between both readings of threads, or the
  // length where that is not known.
  double rates_over_ns = 0;
  WindowRows rows;
  std::uint64_t lost = 0, unseen = 0, merged = 0;  // as in Window
  bool sees_ends = false, partial = false;
  std::size_t denied_metrics = 0;  // columns that nothing filled, for lack of rights
  std::optional<Accounting> accounting;
  HostLoad load;
  std::vector<SettingChange> settings;  // those of most rows first
  std::size_t settings_cut = 0;         // rows whose changes are not among them
  std::vector<std::string> notes;
};

// A copy, which outlives the snapshot.
struct RunFacts {
  Meta meta;
  std::optional<RawJson> host;  // the host's context, if the file has one
  std::size_t text_bytes = 0;   // of the file that it was read from; 0 if from none
  std::array<std::size_t, kEntities> rows{};
  std::optional<WindowFacts> window;

  std::size_t threads() const { return rows[static_cast<std::size_t>(Entity::Thread)]; }
  std::size_t processes() const { return rows[static_cast<std::size_t>(Entity::Process)]; }
};

// Of a window, what its figures per second are taken over (WindowFacts::rates_over_ns).
double rates_over_ns(const Snapshot& snapshot);

// The members of a host's context by their dotted names, each as JSON; an object whose name is too
// long for that is one of them. None if it is no object.
using HostMembers = std::map<std::string, std::string>;
std::optional<HostMembers> host_members(const RawJson& context);

// REQUIRES: a window is made of differences already (core/window/happened.hpp).
RunFacts facts_of(const Snapshot& snapshot);

// The memory of the host in bytes; none where its context does not have it.
std::optional<double> memory_of_host(const RunFacts& run);

// What a member of a host's context is, and in how many runs of a side.
struct HostValue {
  std::optional<std::string> json;  // none if the context lacks the member
  std::size_t runs = 0;
};

// A member of the hosts' contexts (kernel, command line, tunables, CPU, memory) by its dotted name
// that is not the same in all runs of two sides: it differs between them, or within one. The values
// of a side are each told once, in the order in which its runs have them.
struct HostDifference {
  std::string key;
  std::vector<HostValue> baseline, candidate;
};

// In the order of their keys; none if any file has no context.
std::optional<std::vector<HostDifference>> host_differences(std::span<const RunFacts> baseline,
                                                            std::span<const RunFacts> candidate);

}  // namespace ctprof

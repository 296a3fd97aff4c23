// What the processes of recorded threads had mapped when: what was read of them, and the changes
// that recorders deliver.

#include <sys/sysmacros.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/recorded_stacks.hpp"

namespace ctprof {
namespace {

// Of code of all processes, some 40 bytes each: 10,000 processes have a million.
constexpr std::size_t kMostRanges = 4 << 20;
constexpr std::size_t kMostProcesses = 1 << 18;
constexpr std::size_t kBetweenAttempts = 4096;
constexpr std::size_t kMostJitDumps = 4096;

}  // namespace

void RecordedStacks::map(Process& process, const Mapping& mapping) {
  if (ranges_ >= kMostRanges || mapping.start >= mapping.end) return;
  const std::size_t before = process.space.size();
  const CodeRange range = modules_.range_of(process.space.process(), mapping);
  process.space.map(range);
  ranges_ += process.space.size() - std::min(before, process.space.size());
  if (ids_.size() <= range.module) ids_.resize(range.module + 1);
  if (range.module != Modules::kUnknown) ids_[range.module] = mapping.file;
  if (process_of_jit_dump(mapping.path) && jit_dumps_.size() < kMostJitDumps)
    jit_dumps_.insert_or_assign(process.space.process(),
                                JitDump{range, mapping.file, mapping.path});
}

void RecordedStacks::mapped(std::uint64_t tgid, std::uint64_t read_ns,
                            std::span<const Mapping> mappings,
                            const std::optional<TargetOwner>& owner) {
  if (owner && owners_.size() < kMostProcesses) owners_.insert_or_assign(tgid, *owner);
  const auto [process, is_first] =
      met_.emplace(tgid, Process{AddressSpace(tgid), read_ns, false, owner});
  if (!is_first) {
    read_later_[tgid].push_back({tgid, read_ns, {mappings.begin(), mappings.end()}, owner});
    return;
  }
  for (const Mapping& mapping : mappings) map(process->second, mapping);
}

// Until somebody read them, the old ones are the best guess.
void RecordedStacks::map_anew(const ctprof_change& change) {
  const auto found = read_later_.find(change.tgid);
  if (found == read_later_.end()) return;
  std::deque<ProcessCode>& later = found->second;
  while (!later.empty() && later.front().read_ns < change.at_ns) later.pop_front();
  if (later.empty()) return;
  Process& process = process_of(change.tgid);
  process = Process{AddressSpace(change.tgid), later.front().read_ns, false, later.front().owner};
  for (const Mapping& mapping : later.front().mappings) map(process, mapping);
}

// Processes that ended are kept while there is room: records may come late. Where that made too
// little, it is tried again only after many more processes: each attempt looks at all of them.
void RecordedStacks::make_room() {
  const bool is_full = processes_.size() >= kMostProcesses;
  if (!is_full && (ranges_ < kMostRanges || processes_.size() < room_after_)) return;
  std::erase_if(processes_, [](const auto& process) { return process.second.has_ended; });
  if (processes_.size() == kMostProcesses) processes_.clear();
  ranges_ = 0;
  for (const Processes* all : {&met_, &processes_})
    for (const auto& [tgid, process] : *all) ranges_ += process.space.size();
  room_after_ = processes_.size() + kBetweenAttempts;
}

// As fork(2) makes it; without code where that would take too much memory.
void RecordedStacks::fork(Process& process, const ctprof_change& change) {
  const auto found = processes_.find(change.parent);
  if (found == processes_.end()) return;
  const std::size_t more = found->second.space.size();
  if (ranges_ + more > kMostRanges) return void(++unmapped_);
  process = Process{AddressSpace(change.tgid, found->second.space), 0, false, found->second.owner};
  ranges_ += more;
  if (!process.owner) return;
  process.owner->started_unix_ns = realtime_ns() - boottime_ns() + change.at_ns;
  if (owners_.size() < kMostProcesses) owners_.insert_or_assign(change.tgid, *process.owner);
}

RecordedStacks::Process& RecordedStacks::process_of(std::uint64_t tgid) {
  const auto known = processes_.find(tgid);
  if (known != processes_.end()) return known->second;
  make_room();
  return processes_.emplace(tgid, Process{AddressSpace(tgid)}).first->second;
}

void RecordedStacks::take(const ctprof_change& change) {
  Process& process = process_of(change.tgid);
  if (change.at_ns < process.read_ns) return;  // it is in what was read
  if (change.kind == CTPROF_CHANGE_REMAPPED) return map_anew(change);
  const std::uint64_t end = change.start + change.length;
  const FileId file{makedev(change.device_major, change.device_minor), change.inode};
  switch (change.kind) {
    case CTPROF_CHANGE_MAPPED:
      map(process, {change.start, end, change.offset, file,
                    std::string(change.path.data, change.path.size)});
      return;
    case CTPROF_CHANGE_EXECED:
      process = Process{AddressSpace(change.tgid), 0, false, std::move(process.owner)};
      return;
    case CTPROF_CHANGE_FORKED: return fork(process, change);
    default: process.has_ended = true;
  }
}

}  // namespace ctprof

// Tracks which code the processes of recorded threads have mapped over time: from their maps files
// and from the changes that recorders deliver.

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/recorded_stacks.hpp"

namespace ctprof {
namespace {

// Code ranges of all processes, about 40 bytes each; 10,000 processes have about a million.
constexpr std::size_t kMostRanges = 4 << 20;
constexpr std::size_t kMostProcesses = 1 << 18;
constexpr std::size_t kBetweenAttempts = 4096;
constexpr std::size_t kMostJitDumps = 4096;
// Limit of files in memory that are opened to detect programs.
constexpr std::size_t kMostInMemory = 256;

}  // namespace

void RecordedStacks::pinned(std::span<const PinnedFile> files) {
  pinned_ = files;
  for (std::uint32_t number = 0; number < files.size(); ++number) {
    FileId file = files[number].file;
    file.version = 0;
    versions_[file].push_back(number);
  }
}

// Returns the version of the file's contents at that time: the last one that is not newer. If all
// are newer, returns the version that was pinned through the process itself: then only the name or
// the permissions of the file changed since.
std::uint64_t RecordedStacks::version_of(const FileId& file, std::uint64_t tgid,
                                         std::uint64_t at_ns) const {
  const auto found = versions_.find(file);
  if (found == versions_.end()) return 0;
  const std::uint64_t at_unix_ns = at_ns + realtime_ns() - boottime_ns();
  std::uint64_t version = 0;
  for (const std::uint32_t number : found->second)
    if (pinned_[number].stamp.changed_ns <= at_unix_ns) version = number + 1;
  if (version != 0) return version;
  for (const std::uint32_t number : found->second)
    if (pinned_[number].tgid == tgid) return number + 1;
  return 0;
}

// Returns the contents to request from TargetFiles.
MappedContent RecordedStacks::content_of(const FileId& file, std::uint64_t mapped_ns) const {
  if (file.version != 0) return content_of_version(file.version);
  MappedContent content;
  if (mapped_ns != 0) content.mapped_unix_ns = mapped_ns + realtime_ns() - boottime_ns();
  return content;
}

// Returns whether a file in memory is an ELF file. JIT compilers also store code in files in
// memory, without an ELF header.
bool RecordedStacks::is_program_in_memory(const Process& process, const Mapping& mapping) {
  const auto known = in_memory_.find(mapping.file);
  if (known != in_memory_.end()) return known->second;
  if (in_memory_.size() == kMostInMemory) return false;
  const CodeRange range{mapping.start, mapping.end, mapping.offset, Modules::kUnknown};
  const sdk::Fd fd = files_.open(process.space.process(), range, mapping.path, mapping.file,
                                 process.owner, content_of(mapping.file, 0));
  return in_memory_[mapping.file] = fd && ElfFile(fd.get()).is_valid();
}

// Returns whether the memory is a copy that replaces a part of a file, as programs create for huge
// pages. The file is then still mapped before and after it.
bool RecordedStacks::is_copied_code(const Process& process, const Mapping& mapping) const {
  if (mapping.file.inode != 0 || !mapping.path.empty()) return false;
  const CodeRange* replaced = process.space.find(mapping.start);
  return replaced && replaced->start < mapping.start && replaced->end > mapping.end &&
         modules_[replaced->module].kind == Module::Kind::File;
}

void RecordedStacks::map(Process& process, const Mapping& mapping, std::uint64_t at_ns) {
  if (ranges_ >= kMostRanges || mapping.start >= mapping.end) return;
  if (is_copied_code(process, mapping)) return;
  const std::size_t before = process.space.size();
  const std::uint64_t tgid = process.space.process();
  Mapping of_content = mapping;
  of_content.file.version = version_of(mapping.file, tgid, at_ns);
  of_content.is_program = is_memory_file(mapping.path) && is_program_in_memory(process, of_content);
  const CodeRange range = modules_.range_of(tgid, of_content);
  process.space.map(range);
  ranges_ += process.space.size() - std::min(before, process.space.size());
  if (process_of_jit_dump(mapping.path) && jit_dumps_.size() < kMostJitDumps)
    jit_dumps_.insert_or_assign(process.space.process(),
                                JitDump{range, mapping.file, mapping.path});
  if (files_of_modules_.size() <= range.module) files_of_modules_.resize(range.module + 1);
  Origin& origin = files_of_modules_[range.module];
  if (range.module != Modules::kUnknown) origin.file = of_content.file;
  if (at_ns != 0 && (origin.mapped_ns == 0 || at_ns < origin.mapped_ns)) origin.mapped_ns = at_ns;
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
  for (const Mapping& mapping : mappings) map(process->second, mapping, read_ns);
}

// Switches to newly read mappings. Until they have been read, the old ones are the best
// approximation.
void RecordedStacks::map_anew(const ctprof_change& change) {
  const auto found = read_later_.find(change.tgid);
  if (found == read_later_.end()) return;
  std::deque<ProcessCode>& later = found->second;
  while (!later.empty() && later.front().read_ns < change.at_ns) later.pop_front();
  if (later.empty()) return;
  Process& process = process_of(change.tgid);
  process = Process{AddressSpace(change.tgid), later.front().read_ns, false, later.front().owner};
  for (const Mapping& mapping : later.front().mappings)
    map(process, mapping, later.front().read_ns);
}

// Removes exited processes only when a limit is reached, because their records may be delayed. If
// that frees too little, repeats it only after many more processes, because each attempt iterates
// over all of them.
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

// Copies the mappings of the parent, as fork(2) does; omits them if they would exceed the limit.
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
  if (change.at_ns < process.read_ns) return;  // included in the mappings that were read
  if (change.kind == CTPROF_CHANGE_REMAPPED) return map_anew(change);
  switch (change.kind) {
    case CTPROF_CHANGE_MAPPED: return map(process, mapping_of(change), change.at_ns);
    case CTPROF_CHANGE_EXECED:
      process = Process{AddressSpace(change.tgid), 0, false, std::move(process.owner)};
      return;
    case CTPROF_CHANGE_FORKED: return fork(process, change);
    default: process.has_ended = true;
  }
}

}  // namespace ctprof

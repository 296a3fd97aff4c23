// Tracks which code the processes of recorded threads have mapped over time: from their maps files
// and from the changes that recorders deliver.

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/recorded_stacks.hpp"

namespace ctprof {
namespace {

// Code ranges of all processes, about 40 bytes each; 10,000 processes have about a million.
constexpr std::size_t kMaxRanges = 4 << 20;
constexpr std::size_t kMaxProcesses = 1 << 18;
constexpr std::size_t kProcessesBetweenRemovals = 4096;
constexpr std::size_t kMaxJitDumps = 4096;
// Limit of files in memory that are opened to detect programs.
constexpr std::size_t kMaxMemoryFiles = 256;

}  // namespace

std::uint64_t RecordedStacks::draw_version() {
  static std::atomic<std::uint64_t> last_version{0};
  return ++last_version;
}

void RecordedStacks::set_pinned_files(std::span<const PinnedFile> files) {
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
  const auto entry = is_program_by_file_.find(mapping.file);
  if (entry != is_program_by_file_.end()) return entry->second;
  if (is_program_by_file_.size() == kMaxMemoryFiles) return false;
  const CodeRange range{mapping.start, mapping.end, mapping.offset, Modules::kUnknown};
  const sdk::Fd fd = files_.open(process.space.process(), range, mapping.path, mapping.file,
                                 process.owner, content_of(mapping.file, 0));
  return is_program_by_file_[mapping.file] = fd && ElfFile(fd.get()).is_valid();
}

// Returns whether the memory is a copy that replaces a part of a file, as programs create for huge
// pages. The file is then still mapped before and after it.
bool RecordedStacks::is_copied_code(const Process& process, const Mapping& mapping) const {
  if (mapping.file.inode != 0 || !mapping.path.empty()) return false;
  const CodeRange* replaced = process.space.find(mapping.start);
  return replaced && replaced->start < mapping.start && replaced->end > mapping.end &&
         modules_[replaced->module].kind == Module::Kind::File;
}

void RecordedStacks::add_mapping(Process& process, const Mapping& mapping, std::uint64_t at_ns) {
  if (range_count_ >= kMaxRanges || mapping.start >= mapping.end) return;
  if (is_copied_code(process, mapping)) return;
  const std::size_t before = process.space.size();
  const std::uint64_t tgid = process.space.process();
  Mapping versioned_mapping = mapping;
  versioned_mapping.file.version = version_of(mapping.file, tgid, at_ns);
  versioned_mapping.is_elf_in_memory =
      is_memory_file(mapping.path) && is_program_in_memory(process, versioned_mapping);
  const CodeRange range = modules_.make_code_range(tgid, versioned_mapping);
  process.space.add_mapping(range);
  process.version = draw_version();
  range_count_ += process.space.size() - std::min(before, process.space.size());
  if (parse_jit_dump_process(mapping.path) && jit_dumps_.size() < kMaxJitDumps)
    jit_dumps_.insert_or_assign(process.space.process(),
                                JitDump{range, mapping.file, mapping.path});
  if (module_origins_.size() <= range.module) module_origins_.resize(range.module + 1);
  Origin& origin = module_origins_[range.module];
  if (range.module != Modules::kUnknown) origin.file = versioned_mapping.file;
  if (at_ns != 0 && (origin.mapped_ns == 0 || at_ns < origin.mapped_ns)) origin.mapped_ns = at_ns;
}

void RecordedStacks::add_mappings(std::uint64_t tgid, std::uint64_t read_ns,
                                  std::span<const Mapping> mappings,
                                  const std::optional<TargetOwner>& owner) {
  if (owner && owners_.size() < kMaxProcesses) owners_.insert_or_assign(tgid, *owner);
  const auto [process, is_first] =
      initial_processes_.emplace(tgid, Process{AddressSpace(tgid), read_ns, false, owner});
  if (!is_first) {
    later_readings_[tgid].push_back({tgid, read_ns, {mappings.begin(), mappings.end()}, owner});
    return;
  }
  for (const Mapping& mapping : mappings) add_mapping(process->second, mapping, read_ns);
}

// Switches to newly read mappings. Until they have been read, the old ones are the best
// approximation.
void RecordedStacks::replace_mappings(const ctprof_change& change) {
  const auto found = later_readings_.find(change.tgid);
  if (found == later_readings_.end()) return;
  std::deque<ProcessCode>& readings = found->second;
  while (!readings.empty() && readings.front().read_ns < change.at_ns) readings.pop_front();
  if (readings.empty()) return;
  Process& process = process_of(change.tgid);
  process =
      Process{AddressSpace(change.tgid), readings.front().read_ns, false, readings.front().owner};
  for (const Mapping& mapping : readings.front().mappings)
    add_mapping(process, mapping, readings.front().read_ns);
}

// Removes exited processes only when a limit is reached, because their records may be delayed. If
// that frees too little, repeats it only after many more processes, because each attempt iterates
// over all of them.
void RecordedStacks::remove_exited_processes() {
  const bool is_full = processes_.size() >= kMaxProcesses;
  if (!is_full && (range_count_ < kMaxRanges || processes_.size() < next_removal_size_)) return;
  std::erase_if(processes_, [](const auto& process) { return process.second.has_ended; });
  if (processes_.size() == kMaxProcesses) processes_.clear();
  range_count_ = 0;
  for (const Processes* all : {&initial_processes_, &processes_})
    for (const auto& [tgid, process] : *all) range_count_ += process.space.size();
  next_removal_size_ = processes_.size() + kProcessesBetweenRemovals;
}

// Copies the mappings of the parent, as fork(2) does; omits them if they would exceed the limit.
void RecordedStacks::copy_mappings(Process& process, const ctprof_change& change) {
  const auto found = processes_.find(change.parent);
  if (found == processes_.end()) return;
  const std::size_t new_ranges = found->second.space.size();
  if (range_count_ + new_ranges > kMaxRanges) return void(++unmapped_processes_);
  process = Process{AddressSpace(change.tgid, found->second.space), 0, false, found->second.owner};
  range_count_ += new_ranges;
  if (!process.owner) return;
  process.owner->start_unix_ns = realtime_ns() - boottime_ns() + change.at_ns;
  if (owners_.size() < kMaxProcesses) owners_.insert_or_assign(change.tgid, *process.owner);
}

RecordedStacks::Process& RecordedStacks::process_of(std::uint64_t tgid) {
  const auto entry = processes_.find(tgid);
  if (entry != processes_.end()) return entry->second;
  remove_exited_processes();
  return processes_.emplace(tgid, Process{AddressSpace(tgid)}).first->second;
}

void RecordedStacks::add(const ctprof_change& change) {
  Process& process = process_of(change.tgid);
  if (change.at_ns < process.read_ns) return;  // included in the mappings that were read
  if (change.kind == CTPROF_CHANGE_REMAPPED) return replace_mappings(change);
  switch (change.kind) {
    case CTPROF_CHANGE_MAPPED: return add_mapping(process, to_mapping(change), change.at_ns);
    case CTPROF_CHANGE_EXECED:
      process = Process{AddressSpace(change.tgid), 0, false, std::move(process.owner)};
      return;
    case CTPROF_CHANGE_FORKED: return copy_mappings(process, change);
    default: process.has_ended = true;
  }
}

}  // namespace ctprof

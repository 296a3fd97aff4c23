#include "plugins/jemalloc-ptrace/finder/finder.hpp"

#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "ctprof/files.hpp"
#include "plugins/jemalloc-ptrace/finder/allocator_file.hpp"
#include "plugins/jemalloc-ptrace/finder/capture_budget.hpp"
#include "plugins/jemalloc-ptrace/finder/debug_info.hpp"
#include "plugins/jemalloc-ptrace/finder/mappings.hpp"
#include "plugins/jemalloc-ptrace/finder/target_file.hpp"

namespace ctprof::jemalloc {
namespace {

#if defined(__x86_64__)
constexpr std::uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
#else
constexpr std::uint16_t kMachine = EM_NONE;
#endif

// The largest distance of a library's thread-local segment from the thread pointer: before it
// (x86_64), or after it.
constexpr std::int64_t kMaxDistance = 1 << 30;

// Limit of code mappings in an ordinary process. A process with more is examined in full.
constexpr std::size_t kMaxMappings = 1024;

FindResult make_failure(FindStatus status, int error = 0) { return {status, {}, error}; }

// The result for one file, computed once for all processes and threads.
struct FileResultEntry {
  std::once_flag once;
  FileResult file_result;
  std::atomic<bool> is_excluded{false};  // the result is final: the file has no jemalloc
};

class FileResultCache {
 public:
  std::shared_ptr<FileResultEntry> find_entry(const FileId& id) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : found->second;
  }

  std::shared_ptr<FileResultEntry> entry(const FileId& id) {
    const std::lock_guard lock(mutex_);
    auto& slot = entries_[id];
    if (!slot) slot = std::make_shared<FileResultEntry>();
    return slot;
  }

 private:
  std::mutex mutex_;
  std::map<FileId, std::shared_ptr<FileResultEntry>> entries_;
};

// Searches debug information under the root of the first process that mapped the file, then under
// that of ctprof.
FileResult analyze_opened_file(const OpenedFile& opened, int proc, std::uint64_t tgid,
                               const std::string& path, CaptureBudget& capture,
                               AccessMonitor* watch) {
  const ElfFile file(opened.fd.get(),
                     std::make_shared<FileBudget>(capture.next_allowance(), capture.now()));
  FileResult file_result = analyze_file(file, [&](const ElfFile& stripped_file) {
    const sdk::Fd process_root = open_root(proc, tgid);
    const sdk::Fd own_root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    auto facts = find_debug_facts(stripped_file, path, {process_root.get(), own_root.get()}, watch);
    if (watch)
      watch->allows(
          {.operation = Operation::File,
           .device = opened.id.device});  // find_debug_facts() announced accesses to other files
    return facts;
  });
  capture.charge(*file.budget());
  if (file.budget()->is_spent() && file_result.status != FindStatus::Found)
    return {.status = FindStatus::TooCostly,
            .error = is_full_budget(*file.budget()) ? EFBIG : EBUSY};
  const bool is_foreign = file.kind() == ElfKind::Elf64 && file.machine() != kMachine;
  if (is_foreign && file_result.status != FindStatus::NotJemalloc)
    file_result = {.status = FindStatus::ArchMismatch};
  return file_result;
}

// Returns whether a mapping is memory without a file, despite its name: it cannot be opened by its
// path, and no loader mapped it.
bool is_bare_memory(const MappedFile& file) {
  return file.path.starts_with("/memfd:") || file.path.starts_with("/SYSV") ||
         file.path.starts_with("/dev/");
}

// Returns the address where the loader placed the file's address 0. It is unsigned, because it may
// wrap around.
std::uint64_t compute_load_bias(const MappedFile& file, const FileResult& file_result) {
  return file.first_mapping.start - file.first_mapping.offset -
         (file_result.load_address - file_result.load_offset);
}

FindResult read_slot(std::uint64_t tgid, std::uint64_t address, std::int64_t& value) {
  iovec local{&value, sizeof value};
  iovec remote{reinterpret_cast<void*>(address), sizeof value};
  const ssize_t got = ::process_vm_readv(static_cast<pid_t>(tgid), &local, 1, &remote, 1, 0);
  if (got == static_cast<ssize_t>(sizeof value)) return make_failure(FindStatus::Found);
  const int error = got < 0 ? errno : EFAULT;
  return make_failure(error == ESRCH ? FindStatus::PidMissing : FindStatus::Unreadable, error);
}

// Locates one file's counters in the process; sets `pair` if the result is Found.
FindResult locate_in_process(std::uint64_t tgid, const MappedFile& file,
                             const FileResult& file_result, AccessMonitor* watch,
                             CounterPair& pair) {
  pair = file_result.layout.counters;
  if (!file_result.layout.slot) return make_failure(FindStatus::Found);
  std::int64_t start = 0;
  const std::uint64_t slot = compute_load_bias(file, file_result) + *file_result.layout.slot;
  if (watch && !watch->allows({.operation = Operation::Memory, .address = slot}))
    return make_failure(FindStatus::NotAnswering);
  FindResult found = read_slot(tgid, slot, start);
  if (found.status != FindStatus::Found) return found;
  // If the value is implausible, the loader has not written it yet, or it is not a distance.
  const bool is_plausible = kMachine == EM_X86_64 ? start < 0 && start > -kMaxDistance
                                                  : start > 0 && start < kMaxDistance;
  if (!is_plausible) return make_failure(FindStatus::Unreadable, EAGAIN);
  pair = {start + pair.allocated, start + pair.deallocated};
  return found;
}

// Combines the results of the files of a process. A jemalloc file that cannot be read hides a part
// of the values, so it overrides the others. A file that cannot be examined is rarely jemalloc, and
// does not.
class ProcessResult {
 public:
  void add_counters(const CounterPair& pair) {
    if (!result_.counters.add(pair)) failure_ = make_failure(FindStatus::TooMany);
    result_.status = FindStatus::Found;
  }
  // Adds a file that contains jemalloc, but whose counters were not located in this process.
  void add_unlocated(const FindResult& failure) { failure_ = failure; }
  void add_failure(const FindResult& failure) {
    const bool is_jemalloc =
        failure.status == FindStatus::DwarfParseFailure || failure.status == FindStatus::DynamicTls;
    (is_jemalloc ? failure_ : unreadable_) = failure;
  }

  FindResult result() const {
    if (failure_.status != FindStatus::NotJemalloc) return failure_;
    return result_.status == FindStatus::Found ? result_ : unreadable_;
  }

 private:
  FindResult result_ = make_failure(FindStatus::NotJemalloc);
  FindResult failure_ = make_failure(FindStatus::NotJemalloc);
  FindResult unreadable_ = make_failure(FindStatus::NotJemalloc);
};

// Opens map_files of a process with many threads: each has one or two stacks among the mappings.
sdk::Fd open_map_files(int proc, const std::string& process) {
  constexpr nlink_t kManyThreads = 256;
  struct stat tasks {};
  if (::fstatat(proc, (process + "/task").c_str(), &tasks, 0) != 0 || tasks.st_nlink < kManyThreads)
    return sdk::Fd();
  return sdk::Fd(
      ::openat(proc, (process + "/map_files").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Returns FindStatus::Found on success.
FindResult read_maps(int proc, std::uint64_t tgid, std::vector<MappedFile>& files) {
  const std::string process = std::to_string(tgid);
  const sdk::Fd maps(::openat(proc, (process + "/maps").c_str(), O_RDONLY | O_CLOEXEC));
  const int failed =
      maps ? read_code_files(maps.get(), open_map_files(proc, process), files) : errno;
  if (maps && failed == ESRCH) return make_failure(FindStatus::ReadlinkFailure, ENOENT);
  if (failed == 0) return make_failure(FindStatus::Found);
  return make_failure(gap_of_errno(failed) == Gap::ThreadGone ? FindStatus::PidMissing
                                                              : FindStatus::MapsReadFailure,
                      failed);
}

}  // namespace

struct Finder::Impl {
  sdk::Host host;
  FileResultCache file_results;
  CaptureBudget budget;
  AccessMonitor* watch;

  FindResult find(std::uint64_t tgid);
  bool is_known_without_jemalloc(int maps_fd);
  std::shared_ptr<FileResultEntry> find_file_result(std::uint64_t tgid, const MappedFile& file,
                                                    int& error);
  void examine_file(std::uint64_t tgid, const MappedFile& file, ProcessResult& outcomes);
};

// The identity in maps is sufficient for a file that was seen before: it is not opened again.
std::shared_ptr<FileResultEntry> Finder::Impl::find_file_result(std::uint64_t tgid,
                                                                const MappedFile& file,
                                                                int& error) {
  auto entry = file_results.find_entry(file.file);
  OpenedFile opened;
  if (!entry) {
    opened = open_mapped(host.proc(), tgid, file, watch);
    error = opened.error;
    if (!opened.fd) return nullptr;
    entry = file_results.entry(opened.id);
  }
  std::call_once(entry->once, [&] {
    if (!opened.fd) opened = open_mapped(host.proc(), tgid, file, watch);
    if (!opened.fd) return;
    entry->file_result = analyze_opened_file(opened, host.proc(), tgid, file.path, budget, watch);
    entry->is_excluded = entry->file_result.status == FindStatus::NotJemalloc;
  });
  return entry;
}

FindResult Finder::Impl::find(std::uint64_t tgid) {
  std::vector<MappedFile> files;
  if (watch && !watch->allows({.operation = Operation::Mappings}))
    return make_failure(FindStatus::NotAnswering);
  if (const FindResult read = read_maps(host.proc(), tgid, files); read.status != FindStatus::Found)
    return read;
  ProcessResult outcomes;
  for (const MappedFile& file : files)
    if (!is_bare_memory(file)) examine_file(tgid, file, outcomes);
  return outcomes.result();
}

// The files of a thousand processes that run the same program are only examined once. A process
// without code of any file is left to `find`.
bool Finder::Impl::is_known_without_jemalloc(int maps_fd) {
  if (watch && !watch->allows({.operation = Operation::Mappings})) return false;
  bool are_all_excluded = true;
  std::size_t mapping_count = 0;
  const int error = for_each_code_mapping(maps_fd, [&](const FileId& id) {
    const auto entry = file_results.find_entry(id);
    are_all_excluded = entry && entry->is_excluded && ++mapping_count <= kMaxMappings;
    return are_all_excluded;
  });
  return error == 0 && are_all_excluded && mapping_count > 0;
}

void Finder::Impl::examine_file(std::uint64_t tgid, const MappedFile& file,
                                ProcessResult& outcomes) {
  int error = 0;
  const auto entry = find_file_result(tgid, file, error);
  if (!entry)
    return outcomes.add_failure(
        make_failure(error == EBUSY ? FindStatus::NotAnswering : FindStatus::Unreadable, error));
  const FileResult& file_result = entry->file_result;
  if (file_result.status == FindStatus::NotJemalloc) return;
  if (file_result.status != FindStatus::Found)
    return outcomes.add_failure(make_failure(file_result.status, file_result.error));
  CounterPair pair{};
  const FindResult found = locate_in_process(tgid, file, file_result, watch, pair);
  found.status == FindStatus::Found ? outcomes.add_counters(pair) : outcomes.add_unlocated(found);
}

Finder::Finder(const sdk::Host& host, AccessMonitor* watch,
               std::chrono::steady_clock::time_point (*now)())
    : impl_(new Impl{host, {}, CaptureBudget(now), watch}) {}
Finder::~Finder() = default;

FindResult Finder::find(std::uint64_t tgid) { return impl_->find(tgid); }
bool Finder::is_known_without_jemalloc(int maps_fd) {
  return impl_->is_known_without_jemalloc(maps_fd);
}

const char* find_status_tag(FindStatus status) {
  switch (status) {
    case FindStatus::Found: return "found";
    case FindStatus::NotJemalloc: return "jemalloc-not-found";
    case FindStatus::PidMissing: return "pid-missing";
    case FindStatus::ReadlinkFailure: return "readlink-failure";
    case FindStatus::MapsReadFailure: return "maps-read-failure";
    case FindStatus::ArchMismatch: return "arch-mismatch";
    case FindStatus::DwarfParseFailure: return "dwarf-parse-failure";
    case FindStatus::DynamicTls: return "dynamic-tls";
    case FindStatus::Unreadable: return "unreadable";
    case FindStatus::TooCostly: return "too-costly";
    case FindStatus::NotAnswering: return "not-answering";
    case FindStatus::TooMany: return "too-many-allocators";
  }
  return "unknown";
}

}  // namespace ctprof::jemalloc

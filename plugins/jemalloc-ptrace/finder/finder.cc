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
constexpr std::int64_t kFarthest = 1 << 30;

// Limit of code mappings in an ordinary process. A process with more is examined in full.
constexpr std::size_t kMostMappings = 1024;

Found without(Attach attach, int error = 0) { return {attach, {}, error}; }

// One file's verdict, made once for all processes and threads.
struct VerdictEntry {
  std::once_flag once;
  FileVerdict verdict;
  std::atomic<bool> is_dismissed{false};  // the verdict exists: the file is not jemalloc
};

class Verdicts {
 public:
  std::shared_ptr<VerdictEntry> known(const FileId& id) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : found->second;
  }

  std::shared_ptr<VerdictEntry> entry(const FileId& id) {
    const std::lock_guard lock(mutex_);
    auto& slot = entries_[id];
    if (!slot) slot = std::make_shared<VerdictEntry>();
    return slot;
  }

 private:
  std::mutex mutex_;
  std::map<FileId, std::shared_ptr<VerdictEntry>> entries_;
};

// Searches debug information under the root of the first process that mapped the file, then under
// that of ctprof.
FileVerdict judge_file(const OpenedFile& opened, int proc, std::uint64_t tgid,
                       const std::string& path, CaptureBudget& capture, Watch* watch) {
  const ElfFile file(opened.fd.get(), std::make_shared<FileBudget>(capture.next(), capture.now()));
  FileVerdict verdict = judge(file, [&](const ElfFile& suspect) {
    const sdk::Fd theirs = root_of(proc, tgid);
    const sdk::Fd ours(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    auto facts = debug_facts(suspect, path, {theirs.get(), ours.get()}, watch);
    if (watch)
      watch->allows({.operation = Operation::File,
                     .device = opened.id.device});  // the next reads are of the file itself again
    return facts;
  });
  capture.spend(*file.budget());
  if (file.budget()->spent() && verdict.attach != Attach::Found)
    return {.attach = Attach::TooCostly, .error = file.budget()->is_full() ? EFBIG : EBUSY};
  const bool foreign = file.kind() == ElfKind::Elf64 && file.machine() != kMachine;
  if (foreign && verdict.attach != Attach::NotJemalloc) verdict = {.attach = Attach::ArchMismatch};
  return verdict;
}

// Returns whether a mapping is memory without a file, despite its name: it cannot be opened by its
// path, and no loader mapped it.
bool is_bare_memory(const MappedFile& file) {
  return file.path.starts_with("/memfd:") || file.path.starts_with("/SYSV") ||
         file.path.starts_with("/dev/");
}

// Returns the address where the loader placed the file's address 0. It is unsigned, because it may
// wrap around.
std::uint64_t bias(const MappedFile& file, const FileVerdict& verdict) {
  return file.lowest.start - file.lowest.offset - (verdict.load_address - verdict.load_offset);
}

Found read_slot(std::uint64_t tgid, std::uint64_t address, std::int64_t& value) {
  iovec local{&value, sizeof value};
  iovec remote{reinterpret_cast<void*>(address), sizeof value};
  const ssize_t got = ::process_vm_readv(static_cast<pid_t>(tgid), &local, 1, &remote, 1, 0);
  if (got == static_cast<ssize_t>(sizeof value)) return without(Attach::Found);
  const int error = got < 0 ? errno : EFAULT;
  return without(error == ESRCH ? Attach::PidMissing : Attach::Unreadable, error);
}

// Locates one file's counters in the process; sets `pair` if the result is Found.
Found in_process(std::uint64_t tgid, const MappedFile& file, const FileVerdict& verdict,
                 Watch* watch, CounterPair& pair) {
  pair = verdict.layout.counters;
  if (!verdict.layout.slot) return without(Attach::Found);
  std::int64_t start = 0;
  const std::uint64_t slot = bias(file, verdict) + *verdict.layout.slot;
  if (watch && !watch->allows({.operation = Operation::Memory, .address = slot}))
    return without(Attach::NotAnswering);
  Found found = read_slot(tgid, slot, start);
  if (found.attach != Attach::Found) return found;
  // If the value is implausible, the loader has not written it yet, or it is not a distance.
  const bool plausible =
      kMachine == EM_X86_64 ? start < 0 && start > -kFarthest : start > 0 && start < kFarthest;
  if (!plausible) return without(Attach::Unreadable, EAGAIN);
  pair = {start + pair.allocated, start + pair.deallocated};
  return found;
}

// Combines the results of the files of a process. A jemalloc file that cannot be read hides a part
// of the values, so it overrides the others. A file that cannot be judged is rarely jemalloc, and
// does not.
class Outcomes {
 public:
  void found(const CounterPair& pair) {
    if (!found_.counters.add(pair)) hidden_ = without(Attach::TooMany);
    found_.attach = Attach::Found;
  }
  // Adds a file that contains jemalloc, but whose counters were not located in this process.
  void hides(const Found& why) { hidden_ = why; }
  void failed(const Found& why) {
    const bool is_jemalloc =
        why.attach == Attach::DwarfParseFailure || why.attach == Attach::DynamicTls;
    (is_jemalloc ? hidden_ : doubtful_) = why;
  }

  Found result() const {
    if (hidden_.attach != Attach::NotJemalloc) return hidden_;
    return found_.attach == Attach::Found ? found_ : doubtful_;
  }

 private:
  Found found_ = without(Attach::NotJemalloc);
  Found hidden_ = without(Attach::NotJemalloc);
  Found doubtful_ = without(Attach::NotJemalloc);
};

// Opens map_files of a process with many threads: each has one or two stacks among the mappings.
sdk::Fd open_map_files(int proc, const std::string& process) {
  constexpr nlink_t kMany = 256;
  struct stat tasks {};
  if (::fstatat(proc, (process + "/task").c_str(), &tasks, 0) != 0 || tasks.st_nlink < kMany)
    return sdk::Fd();
  return sdk::Fd(
      ::openat(proc, (process + "/map_files").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Returns Attach::Found on success.
Found read_maps(int proc, std::uint64_t tgid, std::vector<MappedFile>& files) {
  const std::string process = std::to_string(tgid);
  const sdk::Fd maps(::openat(proc, (process + "/maps").c_str(), O_RDONLY | O_CLOEXEC));
  const int failed =
      maps ? read_code_files(maps.get(), open_map_files(proc, process), files) : errno;
  if (maps && failed == ESRCH) return without(Attach::ReadlinkFailure, ENOENT);
  if (failed == 0) return without(Attach::Found);
  return without(
      gap_of_errno(failed) == Gap::ThreadGone ? Attach::PidMissing : Attach::MapsReadFailure,
      failed);
}

}  // namespace

struct Finder::Impl {
  sdk::Host host;
  Verdicts verdicts;
  CaptureBudget budget;
  Watch* watch;

  Found find(std::uint64_t tgid);
  bool dismisses(int maps);
  std::shared_ptr<VerdictEntry> verdict_of(std::uint64_t tgid, const MappedFile& file, int& error);
  void look_into(std::uint64_t tgid, const MappedFile& file, Outcomes& outcomes);
};

// The identity in maps is sufficient for a file that was seen before: it is not opened again.
std::shared_ptr<VerdictEntry> Finder::Impl::verdict_of(std::uint64_t tgid, const MappedFile& file,
                                                       int& error) {
  auto entry = verdicts.known(file.file);
  OpenedFile opened;
  if (!entry) {
    opened = open_mapped(host.proc(), tgid, file, watch);
    error = opened.error;
    if (!opened.fd) return nullptr;
    entry = verdicts.entry(opened.id);
  }
  std::call_once(entry->once, [&] {
    if (!opened.fd) opened = open_mapped(host.proc(), tgid, file, watch);
    if (!opened.fd) return;
    entry->verdict = judge_file(opened, host.proc(), tgid, file.path, budget, watch);
    entry->is_dismissed = entry->verdict.attach == Attach::NotJemalloc;
  });
  return entry;
}

Found Finder::Impl::find(std::uint64_t tgid) {
  std::vector<MappedFile> files;
  if (watch && !watch->allows({.operation = Operation::Mappings}))
    return without(Attach::NotAnswering);
  if (const Found read = read_maps(host.proc(), tgid, files); read.attach != Attach::Found)
    return read;
  Outcomes outcomes;
  for (const MappedFile& file : files)
    if (!is_bare_memory(file)) look_into(tgid, file, outcomes);
  return outcomes.result();
}

// The files of a thousand processes with one program are only judged once. A process without code
// of any file is left to `find`.
bool Finder::Impl::dismisses(int maps) {
  if (watch && !watch->allows({.operation = Operation::Mappings})) return false;
  bool all = true;
  std::size_t seen = 0;
  const int error = query_code(maps, [&](const FileId& id) {
    const auto entry = verdicts.known(id);
    all = entry && entry->is_dismissed && ++seen <= kMostMappings;
    return all;
  });
  return error == 0 && all && seen > 0;
}

void Finder::Impl::look_into(std::uint64_t tgid, const MappedFile& file, Outcomes& outcomes) {
  int error = 0;
  const auto entry = verdict_of(tgid, file, error);
  if (!entry)
    return outcomes.failed(
        without(error == EBUSY ? Attach::NotAnswering : Attach::Unreadable, error));
  const FileVerdict& verdict = entry->verdict;
  if (verdict.attach == Attach::NotJemalloc) return;
  if (verdict.attach != Attach::Found)
    return outcomes.failed(without(verdict.attach, verdict.error));
  CounterPair pair{};
  const Found found = in_process(tgid, file, verdict, watch, pair);
  found.attach == Attach::Found ? outcomes.found(pair) : outcomes.hides(found);
}

Finder::Finder(const sdk::Host& host, Watch* watch, std::chrono::steady_clock::time_point (*now)())
    : impl_(new Impl{host, {}, CaptureBudget(now), watch}) {}
Finder::~Finder() = default;

Found Finder::find(std::uint64_t tgid) { return impl_->find(tgid); }
bool Finder::dismisses(int maps) { return impl_->dismisses(maps); }

const char* tag(Attach attach) {
  switch (attach) {
    case Attach::Found: return "found";
    case Attach::NotJemalloc: return "jemalloc-not-found";
    case Attach::PidMissing: return "pid-missing";
    case Attach::ReadlinkFailure: return "readlink-failure";
    case Attach::MapsReadFailure: return "maps-read-failure";
    case Attach::ArchMismatch: return "arch-mismatch";
    case Attach::DwarfParseFailure: return "dwarf-parse-failure";
    case Attach::DynamicTls: return "dynamic-tls";
    case Attach::Unreadable: return "unreadable";
    case Attach::TooCostly: return "too-costly";
    case Attach::NotAnswering: return "not-answering";
    case Attach::TooMany: return "too-many-allocators";
  }
  return "unknown";
}

}  // namespace ctprof::jemalloc

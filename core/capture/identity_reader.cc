#include "core/capture/identity_reader.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <set>

#include "core/base/clock.hpp"
#include "core/registry/identity.hpp"
#include "ctprof/listing.hpp"

namespace ctprof {
namespace {

// Fields of stat after the closing parenthesis: a blank, the state (field 3), the parent (field 4),
// ... flags (field 9), ... start time (field 22).
constexpr int kFieldsBeforeParent = 2;
constexpr int kFieldsBetweenParentAndFlags = 4;
constexpr int kFieldsBetweenFlagsAndStart = 12;
constexpr std::uint64_t kKernelThreadFlag = 0x200000;  // PF_KTHREAD of include/linux/sched.h
constexpr std::uint64_t kWorkqueueWorker = 0x20;       // PF_WQ_WORKER of include/linux/sched.h

void skip_fields(std::string_view& text, int fields) {
  for (int field = 0; field < fields; ++field) sdk::take(text, ' ');
}

void put_gap(Column& column, std::size_t row, Gap gap) {
  column.gaps()[row] = static_cast<ctprof_gap>(gap);
}

void put(Column& column, std::size_t row, std::uint64_t value) {
  column.u64()[row] = value;
  put_gap(column, row, Gap::None);
}

void put_id(Column& column, std::size_t row, Id id) {
  column.ids()[row] = id;
  put_gap(column, row, Gap::None);
}

}  // namespace

void add_identity_columns(Table& threads) {
  for (const std::string_view name :
       {kTid, kTgid, kPcomm, kComm, kCgroup, kStartTime, kParent, kKernelThread})
    threads.add(identity_metric(name), Gap::Untouched).provenance = {
        identity_metric(name).plugin, "lister", Gap::None, {}};
}

IdentityColumns identity_columns(Table& threads) {
  return {*threads.find(kTid),    *threads.find(kTgid),        *threads.find(kPcomm),
          *threads.find(kComm),   *threads.find(kCgroup),      *threads.find(kStartTime),
          *threads.find(kParent), *threads.find(kKernelThread)};
}

std::optional<StatIdentity> parse_stat_identity(std::string_view text) {
  const auto open = text.find('('), close = text.rfind(')');
  if (open == text.npos || close == text.npos || close < open) return std::nullopt;
  std::string_view rest = text.substr(close + 1);
  skip_fields(rest, kFieldsBeforeParent);
  const auto parent = sdk::number<std::uint64_t>(sdk::take(rest, ' '));
  skip_fields(rest, kFieldsBetweenParentAndFlags);
  const auto flags = sdk::number<std::uint64_t>(sdk::take(rest, ' '));
  skip_fields(rest, kFieldsBetweenFlagsAndStart);
  const auto start = sdk::number<std::uint64_t>(sdk::take(rest, ' '));
  if (!parent || !flags || !start) return std::nullopt;
  const std::string_view name = text.substr(open + 1, close - open - 1);
  const bool is_worker = (flags.value & kWorkqueueWorker) != 0;
  return StatIdentity{is_worker ? sdk::worker_name(name) : name, start.value, parent.value,
                      (flags.value & kKernelThreadFlag) != 0};
}

std::optional<std::string_view> parse_cgroup_path(std::string_view text) {
  while (!text.empty())
    if (std::string_view line = sdk::take(text, '\n'); line.starts_with("0::/"))
      return line.substr(3);
  return std::nullopt;
}

bool is_below(std::string_view cgroup, std::string_view ancestor) {
  if (ancestor == "/") return true;
  return cgroup.starts_with(ancestor) &&
         (cgroup.size() == ancestor.size() || cgroup[ancestor.size()] == '/');
}

Result<std::vector<std::uint64_t>> list_processes_below(int proc, std::string_view cgroup,
                                                        const std::vector<std::uint64_t>& pids) {
  CTPROF_TRY_VALUE(auto found, pids.empty() ? Walker().processes(proc)
                                            : Result<std::vector<std::uint64_t>>(pids));
  sdk::TextFile file;
  std::erase_if(found, [&](std::uint64_t pid) {
    const auto text = file.read(proc, (std::to_string(pid) + "/cgroup").c_str());
    const auto path = text ? parse_cgroup_path(text.value) : std::nullopt;
    return !path || !is_below(*path, cgroup);
  });
  if (found.empty()) found.push_back(kNoProcess);
  return found;
}

bool ThreadedCgroups::threads_can_differ(std::string_view path) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = differs_by_path_.find(std::string(path)); it != differs_by_path_.end())
      return it->second;
  }
  const bool differ = read_threads_can_differ(path);
  const std::lock_guard lock(mutex_);
  differs_by_path_.emplace(path, differ);
  return differ;
}

bool ThreadedCgroups::read_threads_can_differ(std::string_view path) const {
  if (root_fd_ < 0 || path.starts_with("/..")) return true;
  if (path == "/") return root_has_threaded_child();
  sdk::TextFile file;
  const auto type = file.read(root_fd_, ("." + std::string(path) + "/cgroup.type").c_str());
  return !type || sdk::trimmed(type.value) != "domain";
}

// The root cgroup has no cgroup.type file; it is a threaded domain if a child is threaded.
bool ThreadedCgroups::root_has_threaded_child() const {
  const int fd = ::openat(root_fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(fd < 0 ? nullptr : ::fdopendir(fd),
                                                      &::closedir);
  if (!directory) return true;
  sdk::TextFile file;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] == '.' || entry->d_type != DT_DIR) continue;
    const auto type = file.read(root_fd_, (std::string(entry->d_name) + "/cgroup.type").c_str());
    if (type && sdk::trimmed(type.value) == "threaded") return true;
  }
  return false;
}

IdentityReader::IdentityReader(const Roots& roots, IdentityColumns& columns, TextPool& texts,
                               ThreadedCgroups& threaded_cgroups, const BlockingProcesses& blocking,
                               std::vector<std::uint64_t>& read_at, std::uint64_t clock_start)
    : roots_(roots),
      columns_(columns),
      texts_(texts),
      threaded_cgroups_(threaded_cgroups),
      blocking_(blocking),
      read_at_(read_at),
      clock_start_(clock_start),
      stat_texts_(kMaxRows) {}

std::uint32_t IdentityReader::read(std::span<const ThreadId> threads, std::size_t first_row) {
  std::size_t row = first_row;
  for (const ThreadId& thread : threads)
    if (read_one(thread, row)) ++row;
  return static_cast<std::uint32_t>(row - first_row);
}

void IdentityReader::release() {
  directories_.clear();
  task_dirs_.clear();
  stats_.clear();
  stat_gaps_.clear();
}

void IdentityReader::read_cgroups(std::size_t first_row, std::uint32_t rows) {
  for (std::size_t row = first_row; row < first_row + rows; ++row)
    read_cgroup({columns_.tgid.u64()[row], columns_.tid.u64()[row]}, -1, row);
}

bool IdentityReader::read_one(const ThreadId& thread, std::size_t row) {
  char path[64];
  std::snprintf(path, sizeof path, "%llu/task/%llu", static_cast<unsigned long long>(thread.tgid),
                static_cast<unsigned long long>(thread.tid));
  sdk::Fd directory(::openat(roots_.proc_fd.get(), path, O_PATH | O_DIRECTORY | O_CLOEXEC));
  const int error = directory ? 0 : errno;
  sdk::note_shortage(error);
  if (!directory && gap_of_errno(error) == Gap::ThreadGone) return false;
  const auto stat = read_file(thread, directory.get(), error);
  if (stat.gap == Gap::ThreadGone) return false;
  read_at_[row] = boottime_ns() - clock_start_;
  put(columns_.tid, row, thread.tid);
  put(columns_.tgid, row, thread.tgid);
  for (Column* column : stat_columns()) put_gap(*column, row, stat.gap);
  std::string& stat_text = stat_texts_[stats_.size()];
  stat_text.assign(stat ? stat.value : std::string_view{});
  stats_.push_back({stat_text.data(), stat_text.size()});
  stat_gaps_.push_back(static_cast<ctprof_gap>(stat.gap));
  if (stat) read_stat(stat_text, row);
  if (stat.gap == Gap::Busy && directory) read_name(directory.get(), row);
  read_cgroup(thread, directory.get(), row);
  if (directories_.size() >= max_directories_) directory.reset();
  task_dirs_.push_back(directory.get());
  if (directory) directories_.push_back(std::move(directory));
  return true;
}

sdk::Reading<std::string_view> IdentityReader::read_file(const ThreadId& thread, int directory,
                                                         int error) {
  if (directory < 0) return gap_of_errno(error);
  if (blocking_.contains(thread.tgid)) return Gap::Busy;
  return file_.read(directory, "stat");
}

// The name has its own file, comm, which needs no lock of the process.
void IdentityReader::read_name(int directory, std::size_t row) {
  if (const auto name = file_.read(directory, "comm"))
    put_id(columns_.comm, row, texts_.intern(sdk::name_in_comm(name.value)));
}

void IdentityReader::read_stat(std::string_view text, std::size_t row) {
  if (const auto identity = parse_stat_identity(text)) {
    put_id(columns_.comm, row, texts_.intern(identity->comm));
    put(columns_.start_time, row, identity->start_time);
    put(columns_.parent, row, identity->parent);
    columns_.kernel_thread.bools()[row] = identity->kernel_thread;
    put_gap(columns_.kernel_thread, row, Gap::None);
    return;
  }
  for (Column* column : stat_columns()) put_gap(*column, row, Gap::Malformed);
}

// Returns the columns that are read from a stat file.
std::array<Column*, 4> IdentityReader::stat_columns() {
  return {&columns_.comm, &columns_.start_time, &columns_.parent, &columns_.kernel_thread};
}

void IdentityReader::read_cgroup(const ThreadId& thread, int directory, std::size_t row) {
  if (thread.tgid == shared_tgid_) return put_id(columns_.cgroup, row, shared_cgroup_);
  char path[64];
  std::snprintf(path, sizeof path, "%llu/task/%llu/cgroup",
                static_cast<unsigned long long>(thread.tgid),
                static_cast<unsigned long long>(thread.tid));
  const auto text =
      directory < 0 ? file_.read(roots_.proc_fd.get(), path) : file_.read(directory, "cgroup");
  // Threads of a recorded tree do not exit: a missing file was not recorded.
  const bool is_missing = text.gap == Gap::ThreadGone;
  if (!text)
    return put_gap(columns_.cgroup, row,
                   is_missing && !roots_.is_live ? Gap::Unsupported : text.gap);
  const auto cgroup = parse_cgroup_path(text.value);
  if (!cgroup) return put_gap(columns_.cgroup, row, Gap::Unsupported);
  const Id id = texts_.intern(*cgroup);
  put_id(columns_.cgroup, row, id);
  if (!threaded_cgroups_.threads_can_differ(*cgroup))
    shared_tgid_ = thread.tgid, shared_cgroup_ = id;
}

namespace {

Column& add_key(Table& table, std::string_view name) {
  Column& column = table.add(identity_metric(name), Gap::Untouched);
  column.provenance = {identity_metric(name).plugin, "lister", Gap::None, {}};
  return column;
}

// Returns the parent of a path: "/a" for "/a/b", "/" for "/a".
std::string_view parent_of(std::string_view path) {
  return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
}

}  // namespace

void add_process_rows(Snapshot& snapshot) {
  const Table& threads = snapshot.threads();
  const auto thread_tgid = threads.find(kTgid)->u64();
  const Column& thread_pcomm = *threads.find(kPcomm);
  std::vector<std::size_t> first_rows;
  for (std::size_t row = 0; row < threads.rows; ++row)
    if (row == 0 || thread_tgid[row] != thread_tgid[row - 1]) first_rows.push_back(row);

  Table& processes = snapshot.table(Entity::Process);
  processes.rows = first_rows.size();
  Column& tgid = add_key(processes, kProcessTgid);
  Column& pcomm = add_key(processes, kProcessPcomm);
  for (std::size_t row = 0; row < first_rows.size(); ++row) {
    tgid.u64()[row] = thread_tgid[first_rows[row]];
    tgid.gaps()[row] = CTPROF_VALUE;
    pcomm.ids()[row] = thread_pcomm.ids()[first_rows[row]];
    pcomm.gaps()[row] = thread_pcomm.gaps()[first_rows[row]];
  }
  for (Column& column : processes.columns)
    if (column.rows() != processes.rows) column.resize(processes.rows, Gap::Untouched);
}

namespace {

std::set<std::string_view> cgroups_of_threads(const Snapshot& snapshot) {
  const Column& cgroup = *snapshot.threads().find(kCgroup);
  std::set<Id> seen;
  std::set<std::string_view> paths;
  for (std::size_t row = 0; row < cgroup.rows(); ++row) {
    if (!cgroup.has_value(row) || !seen.insert(cgroup.ids()[row]).second) continue;
    for (std::string_view path = snapshot.pools->texts[cgroup.ids()[row]];
         paths.insert(path).second && path.size() > 1;)
      path = parent_of(path);
  }
  return paths;
}

}  // namespace

void add_cgroup_rows(Snapshot& snapshot, const CgroupList& all) {
  std::map<std::string_view, std::uint64_t> ids;
  for (const std::string_view path : cgroups_of_threads(snapshot)) ids[path] = 0;
  for (const CgroupList::Entry& entry : all.entries) ids[entry.path] = entry.id;
  Table& table = snapshot.table(Entity::Cgroup);
  table.rows = ids.size();
  Column& paths = add_key(table, kCgroupPath);
  Column* numbers = all.is_complete ? &add_key(table, kCgroupId) : nullptr;
  std::size_t row = 0;
  for (const auto& [path, id] : ids) {
    put_id(paths, row, snapshot.pools->texts.intern(path));
    if (numbers) id != 0 ? put(*numbers, row, id) : put_gap(*numbers, row, Gap::ThreadGone);
    ++row;
  }
}

void add_host_row(Snapshot& snapshot) { snapshot.table(Entity::Host).rows = 1; }

}  // namespace ctprof

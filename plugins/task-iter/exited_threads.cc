#include "plugins/task-iter/exited_threads.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace ctprof::task_iter {
namespace {

// Limit of cgroups whose paths are stored. On a host that creates more, the paths of the others are
// missing.
constexpr std::size_t kMaxPaths = 100'000;

std::string_view bounded_text(const char* name, std::size_t size) {
  return {name, ::strnlen(name, size)};
}

// Returns the record at the front of the bytes, or null if there are too few bytes.
template <class Record>
const Record* cast_record(std::span<const std::byte> bytes, std::size_t size = sizeof(Record)) {
  return bytes.size() >= size ? reinterpret_cast<const Record*>(bytes.data()) : nullptr;
}

}  // namespace

struct ExitedThreads::Columns {
  explicit Columns(const sdk::Batch& batch)
      : task(batch),
        comm(batch.column(sdk::kComm)),
        pcomm(batch.column(sdk::kPcomm)),
        cgroup(batch.column(sdk::kCgroup)),
        started_at(batch.column(sdk::kBornAt)),
        ended_at(batch.column(sdk::kEndedAt)),
        took_over(batch.column(sdk::kTookOver)),
        descendant(batch.column(sdk::kDescendant)),
        was_born(batch.column(sdk::kWasBorn)) {}

  ExitedThreadColumns task;
  sdk::Column<CTPROF_STRING> comm, pcomm, cgroup;
  sdk::Column<CTPROF_U64> started_at, ended_at;
  sdk::Column<CTPROF_BOOL> took_over, descendant, was_born;
};

ExitedThreadColumns::ExitedThreadColumns(const sdk::Batch& batch)
    : identity_(batch), always_(batch), times_(batch), delays_(batch), statistics_(batch) {}

void ExitedThreadColumns::put(std::uint32_t row, const record& task, const HostFacts& facts) {
  identity_.put(row, task, facts, scratch_);
  always_.put(row, task, facts, scratch_);
  times_.put(row, cpu_times(task), facts);
  (task.properties & RECORD_OF_DELAYS) != 0 ? delays_.put(row, task)
                                            : delays_.fail(row, Gap::PredatesSwitch);
  has_feature(task, RECORD_HAS_STATISTICS) ? statistics_.put(row, task)
                                           : statistics_.fail(row, Gap::Unsupported);
}

void ExitedThreadColumns::put_identity(std::uint32_t row, const record& task,
                                       const HostFacts& facts, Gap gap) {
  identity_.put(row, task, facts, scratch_);
  always_.fail(row, gap);
  times_.fail(row, gap);
  delays_.fail(row, gap);
  statistics_.fail(row, gap);
}

void ExitedThreads::start(const sdk::Window& window) {
  pids_.assign(window.pids().begin(), window.pids().end());
  std::ranges::sort(pids_);
  follows_children_ = window.inherits() && !pids_.empty();
  if (follows_children_) input_->follow(pids_);
  input_->start(static_cast<std::uint32_t>(window.command()));
}

void ExitedThreads::stop() { input_->stop(); }

void ExitedThreads::drain(const sdk::Listing& listing) {
  Rows rows(listing);
  input_->read([&](std::span<const std::byte> bytes) { return handle_record(rows, bytes); });
  rows.commit();
  const std::uint64_t lost = input_->lost_count();
  listing.count_lost(lost - reported_lost_);
  reported_lost_ = lost;
}

// `is_followed`: the programs reported that the process descends from the selected ones.
bool ExitedThreads::is_selected(std::uint64_t tgid, bool is_followed) const {
  return pids_.empty() || (follows_children_ && is_followed) ||
         std::ranges::binary_search(pids_, tgid);
}

// Returns false if ctprof has no capacity for another row; the record is then delivered again.
bool ExitedThreads::handle_record(Rows& rows, std::span<const std::byte> bytes) {
  const auto* kind = cast_record<std::uint32_t>(bytes);
  if (!kind) return true;
  if (*kind == EXIT_RECORD_CGROUP) {
    if (const auto* cgroup = cast_record<exit_record_cgroup>(bytes)) store_path(*cgroup);
    return true;
  }
  const auto* exec = *kind == EXIT_RECORD_EXEC ? cast_record<exit_record_exec>(bytes) : nullptr;
  const auto* exit_record = *kind == EXIT_RECORD_THREAD
                                ? cast_record<exit_record_thread>(bytes, EXIT_RECORD_THREAD_SIZE)
                                : nullptr;
  const auto* fork_record =
      *kind == EXIT_RECORD_FORK ? cast_record<exit_record_fork>(bytes) : nullptr;
  if (!exec && !exit_record && !fork_record) return true;
  const bool is_followed =
      exec ? exec->is_followed_child != 0
           : !exit_record || (exit_record->task.properties & RECORD_OF_FOLLOWED) != 0;
  if (!is_selected(exec          ? exec->tgid
                   : exit_record ? exit_record->task.tgid
                                 : fork_record->tgid,
                   is_followed))
    return true;
  if (!rows.add()) return false;
  exec ? put(rows, *exec) : exit_record ? put(rows, *exit_record) : put(rows, *fork_record);
  return true;
}

void ExitedThreads::put(Rows& rows, const exit_record_thread& exit_record) {
  Columns& columns = rows.columns();
  const std::uint32_t row = rows.row();
  columns.task.put(row, exit_record.task, facts_);
  columns.comm.put(row, short_name(exit_record.task));
  columns.pcomm.put(row, bounded_text(exit_record.pcomm, sizeof exit_record.pcomm));
  columns.started_at.put(row, exit_record.task.start_boottime);
  columns.ended_at.put(row, exit_record.task.now_boottime);
  columns.took_over.put(row, false);
  columns.was_born.put(row, false);
  columns.descendant.put(row, (exit_record.task.properties & RECORD_OF_COMMAND) != 0);
  put_cgroup(columns.cgroup, row, exit_record.task.cgroup_id);
}

// The start of the thread is already that of its leader; its earlier identity is unknown.
void ExitedThreads::put(Rows& rows, const exit_record_exec& exec) {
  record task{};
  task.tgid = exec.tgid;
  task.tid = exec.tid;
  write_living_thread(rows, task, exec.at_boottime);
  rows.columns().took_over.put(rows.row(), true);
  rows.columns().was_born.put(rows.row(), false);
}

void ExitedThreads::put(Rows& rows, const exit_record_fork& fork_record) {
  record task{};
  task.tgid = task.tid = fork_record.tgid;
  task.start_boottime = fork_record.start_boottime;
  write_living_thread(rows, task, fork_record.start_boottime);
  rows.columns().took_over.put(rows.row(), false);
  rows.columns().was_born.put(rows.row(), true);
}

// Writes the known values of a thread that did not exit.
void ExitedThreads::write_living_thread(Rows& rows, const record& task, std::uint64_t at_ns) {
  Columns& columns = rows.columns();
  const std::uint32_t row = rows.row();
  columns.task.put_identity(row, task, facts_, Gap::ThreadGone);
  for (auto* text : {&columns.comm, &columns.pcomm, &columns.cgroup})
    text->put(row, Gap::ThreadGone);
  columns.started_at.put(row, Gap::ThreadGone);
  columns.descendant.put(row, Gap::ThreadGone);
  columns.ended_at.put(row, at_ns);
}

void ExitedThreads::put_cgroup(sdk::Column<CTPROF_STRING>& cgroup, std::uint32_t row,
                               std::uint64_t id) {
  const auto entry = paths_.find(id);
  entry == paths_.end() ? cgroup.put(row, Gap::ThreadGone)
                        : cgroup.put(row, std::string_view(entry->second));
}

void ExitedThreads::store_path(const exit_record_cgroup& cgroup) {
  auto path = make_cgroup_path(cgroup);
  if (path && paths_.size() < kMaxPaths) paths_[cgroup.id] = std::move(*path);
}

std::optional<std::string> make_cgroup_path(const exit_record_cgroup& cgroup) {
  std::string path;
  if (cgroup.names[EXIT_CGROUP_LEVELS - 1][0] != 0) return std::nullopt;
  for (const auto& name_buffer : cgroup.names) {
    const std::string_view name = bounded_text(name_buffer, EXIT_CGROUP_NAME_SIZE);
    if (name.size() >= EXIT_CGROUP_NAME_SIZE - 1) return std::nullopt;
    if (!name.empty()) path = "/" + std::string(name) + path;
  }
  return path.empty() ? "/" : path;
}

}  // namespace ctprof::task_iter

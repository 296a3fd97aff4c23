#include "plugins/task-iter/ends.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace ctprof::task_iter {
namespace {

// Limit of cgroups whose paths are stored. On a host that creates more, the paths of the others are
// missing.
constexpr std::size_t kMostPaths = 100'000;

std::string_view text_of(const char* name, std::size_t room) {
  return {name, ::strnlen(name, room)};
}

// Returns the record at the front of the bytes, or null if there are too few bytes.
template <class Record>
const Record* as(std::span<const std::byte> bytes, std::size_t size = sizeof(Record)) {
  return bytes.size() >= size ? reinterpret_cast<const Record*>(bytes.data()) : nullptr;
}

}  // namespace

struct Ends::Columns {
  explicit Columns(const sdk::Batch& of)
      : task(of),
        comm(of.column(sdk::kComm)),
        pcomm(of.column(sdk::kPcomm)),
        cgroup(of.column(sdk::kCgroup)),
        born_at(of.column(sdk::kBornAt)),
        ended_at(of.column(sdk::kEndedAt)),
        took_over(of.column(sdk::kTookOver)),
        descendant(of.column(sdk::kDescendant)),
        was_born(of.column(sdk::kWasBorn)) {}

  EndedColumns task;
  sdk::Column<CTPROF_STRING> comm, pcomm, cgroup;
  sdk::Column<CTPROF_U64> born_at, ended_at;
  sdk::Column<CTPROF_BOOL> took_over, descendant, was_born;
};

EndedColumns::EndedColumns(const sdk::Batch& batch)
    : identity_(batch), always_(batch), times_(batch), delays_(batch), statistics_(batch) {}

void EndedColumns::put(std::uint32_t row, const record& task, const Facts& facts) {
  identity_.put(row, task, facts, scratch_);
  always_.put(row, task, facts, scratch_);
  times_.put(row, cpu_times(task), facts);
  (task.of & RECORD_OF_DELAYS) != 0 ? delays_.put(row, task)
                                    : delays_.fail(row, Gap::PredatesSwitch);
  has(task, RECORD_HAS_STATISTICS) ? statistics_.put(row, task)
                                   : statistics_.fail(row, Gap::Unsupported);
}

void EndedColumns::put_identity(std::uint32_t row, const record& task, const Facts& facts,
                                Gap gap) {
  identity_.put(row, task, facts, scratch_);
  always_.fail(row, gap);
  times_.fail(row, gap);
  delays_.fail(row, gap);
  statistics_.fail(row, gap);
}

void Ends::start(const sdk::Window& window) {
  pids_.assign(window.pids().begin(), window.pids().end());
  std::ranges::sort(pids_);
  follows_ = window.inherits() && !pids_.empty();
  if (follows_) input_->follow(pids_);
  input_->start(static_cast<std::uint32_t>(window.command()));
}

void Ends::stop() { input_->stop(); }

void Ends::drain(const sdk::Listing& listing) {
  Rows rows(listing);
  input_->read([&](std::span<const std::byte> bytes) { return take(rows, bytes); });
  rows.commit();
  const std::uint64_t lost = input_->lost();
  listing.count_lost(lost - lost_told_);
  lost_told_ = lost;
}

// `is_followed`: the programs saw that the process descends from the selected ones.
bool Ends::is_wanted(std::uint64_t tgid, bool is_followed) const {
  return pids_.empty() || (follows_ && is_followed) || std::ranges::binary_search(pids_, tgid);
}

// Returns false if ctprof has no capacity for another row; the record is then delivered again.
bool Ends::take(Rows& rows, std::span<const std::byte> bytes) {
  const auto* kind = as<std::uint32_t>(bytes);
  if (!kind) return true;
  if (*kind == ENDED_CGROUP) {
    if (const auto* cgroup = as<ended_cgroup>(bytes)) learn(*cgroup);
    return true;
  }
  const auto* exec = *kind == ENDED_EXEC ? as<ended_exec>(bytes) : nullptr;
  const auto* ended = *kind == ENDED_THREAD ? as<ended_thread>(bytes, ENDED_THREAD_SIZE) : nullptr;
  const auto* birth = *kind == ENDED_BIRTH ? as<ended_birth>(bytes) : nullptr;
  if (!exec && !ended && !birth) return true;
  const bool is_followed =
      exec ? exec->of_followed != 0 : !ended || (ended->task.of & RECORD_OF_FOLLOWED) != 0;
  if (!is_wanted(exec ? exec->tgid : ended ? ended->task.tgid : birth->tgid, is_followed))
    return true;
  if (!rows.add()) return false;
  exec ? put(rows, *exec) : ended ? put(rows, *ended) : put(rows, *birth);
  return true;
}

void Ends::put(Rows& rows, const ended_thread& ended) {
  Columns& columns = rows.columns();
  const std::uint32_t row = rows.row();
  columns.task.put(row, ended.task, facts_);
  columns.comm.put(row, short_name(ended.task));
  columns.pcomm.put(row, text_of(ended.pcomm, sizeof ended.pcomm));
  columns.born_at.put(row, ended.task.start_boottime);
  columns.ended_at.put(row, ended.task.now_boottime);
  columns.took_over.put(row, false);
  columns.was_born.put(row, false);
  columns.descendant.put(row, (ended.task.of & RECORD_OF_COMMAND) != 0);
  put_cgroup(columns.cgroup, row, ended.task.cgroup_id);
}

// Its start is already that of its leader; its earlier identity is unknown.
void Ends::put(Rows& rows, const ended_exec& exec) {
  record task{};
  task.tgid = exec.tgid;
  task.tid = exec.tid;
  put_no_end(rows, task, exec.at_boottime);
  rows.columns().took_over.put(rows.row(), true);
  rows.columns().was_born.put(rows.row(), false);
}

void Ends::put(Rows& rows, const ended_birth& birth) {
  record task{};
  task.tgid = task.tid = birth.tgid;
  task.start_boottime = birth.start_boottime;
  put_no_end(rows, task, birth.start_boottime);
  rows.columns().took_over.put(rows.row(), false);
  rows.columns().was_born.put(rows.row(), true);
}

// Writes the known values of a thread that did not exit.
void Ends::put_no_end(Rows& rows, const record& task, std::uint64_t at_ns) {
  Columns& columns = rows.columns();
  const std::uint32_t row = rows.row();
  columns.task.put_identity(row, task, facts_, Gap::ThreadGone);
  for (auto* text : {&columns.comm, &columns.pcomm, &columns.cgroup})
    text->put(row, Gap::ThreadGone);
  columns.born_at.put(row, Gap::ThreadGone);
  columns.descendant.put(row, Gap::ThreadGone);
  columns.ended_at.put(row, at_ns);
}

void Ends::put_cgroup(sdk::Column<CTPROF_STRING>& cgroup, std::uint32_t row, std::uint64_t id) {
  const auto known = paths_.find(id);
  known == paths_.end() ? cgroup.put(row, Gap::ThreadGone)
                        : cgroup.put(row, std::string_view(known->second));
}

void Ends::learn(const ended_cgroup& cgroup) {
  auto path = path_of(cgroup);
  if (path && paths_.size() < kMostPaths) paths_[cgroup.id] = std::move(*path);
}

std::optional<std::string> path_of(const ended_cgroup& cgroup) {
  std::string path;
  if (cgroup.names[ENDED_LEVELS - 1][0] != 0) return std::nullopt;
  for (const auto& given : cgroup.names) {
    const std::string_view name = text_of(given, ENDED_NAME);
    if (name.size() >= ENDED_NAME - 1) return std::nullopt;
    if (!name.empty()) path = "/" + std::string(name) + path;
  }
  return path.empty() ? "/" : path;
}

}  // namespace ctprof::task_iter

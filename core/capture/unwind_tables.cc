#include "core/capture/unwind_tables.hpp"

#include <sys/sysmacros.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/helper_thread.hpp"
#include "core/capture/record_arena.hpp"
#include "core/stacks/cfi.hpp"
#include "core/stacks/modules.hpp"

namespace ctprof {

struct UnwindTables::Request {
  std::uint64_t number = 0;
  TableFile file;
  bool is_vdso = false;
  KernelStatus status = {};
};

struct UnwindTables::Answer {
  std::uint64_t request = 0;
  TableFile file;
  std::optional<UnwindTable> table = {};
};

struct UnwindTables::Shared {
  Shared(int proc, const Options& options)
      : files(proc, options.open_timeout), max_steps(options.max_steps) {}

  void answer_all();
  std::optional<UnwindTable> make_table(const Request& request, TableFile& file);
  std::optional<UnwindTable> make_table(const ElfFile& file, const std::string& path);
  void add_unpackable(const std::string& path);
  void store(Answer answer);

  TargetFiles files;                      // used by the thread
  std::uint64_t timeouts_cleared_ns = 0;  // when timeouts were last cleared
  const std::uint64_t max_steps;
  std::uint64_t steps = 0;  // used by the thread
  std::atomic<std::uint64_t> cpu_ns{0};
  std::atomic<std::uint64_t> refused{0};  // requests refused by a limit on all tables
  std::mutex mutex;                       // protects all members below
  std::condition_variable changed;
  std::deque<Request> queue;
  std::deque<Answer> answers;
  std::size_t bytes = 0;  // of the tables in `answers`
  std::vector<std::string> unpackable_files;
  bool is_running = false;
  bool must_stop = false;
};

namespace {

constexpr std::size_t kMinRequestSize = sizeof(ctprof_table_request);
// A recorder may run for days: files that timed out a minute ago may be opened again.
constexpr std::uint64_t kTimeoutIntervalNs = 60 * kNsPerSecond;
// Limit on the files that list_unpackable_files() returns.
constexpr std::size_t kMaxUnpackable = 100;

bool is_valid(const ctprof_table_request* request) {
  return request && request->size >= kMinRequestSize &&
         request->path.size <= RecordArena::kMaxText &&
         (request->path.data || request->path.size == 0) &&
         request->length <= UINT64_MAX - request->start;
}

}  // namespace

// Runs in the worker thread. Processes the smallest file first: a stack needs the tables of all its
// modules, and most stacks contain few large modules.
void UnwindTables::Shared::answer_all() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return must_stop || !queue.empty(); });
    if (must_stop) break;
    const auto size_of = [](const Request& request) { return request.status.size; };
    const auto next = std::ranges::min_element(queue, {}, size_of);
    const Request request = std::move(*next);
    queue.erase(next);
    lock.unlock();
    const std::uint64_t begin = thread_cpu_time_ns();
    Answer answer{request.number, request.file};
    answer.table = make_table(request, answer.file);
    cpu_ns += thread_cpu_time_ns() - begin;
    lock.lock();
    store(std::move(answer));
  }
  is_running = false;
  changed.notify_all();
}

void UnwindTables::Shared::store(Answer answer) {
  const std::size_t table_bytes = answer.table ? answer.table->get_memory_size() : 0;
  if (bytes + table_bytes > kMaxBytes) answer.table.reset();
  if (answer.table) bytes += table_bytes;
  answers.push_back(std::move(answer));
}

void UnwindTables::Shared::add_unpackable(const std::string& path) {
  const std::lock_guard lock(mutex);
  if (unpackable_files.size() < kMaxUnpackable && !std::ranges::count(unpackable_files, path))
    unpackable_files.push_back(path);
}

std::optional<UnwindTable> UnwindTables::Shared::make_table(const ElfFile& file,
                                                            const std::string& path) {
  PackLimits limits;
  const std::uint64_t remaining_steps = max_steps - std::min(steps, max_steps);
  if (remaining_steps == 0) return ++refused, std::nullopt;
  limits.steps = std::min(limits.steps, remaining_steps);
  const Cfi cfi(file);
  auto table = pack_rules(file, cfi, limits);
  steps += cfi.steps();
  if (!table && cfi.steps() > remaining_steps)
    ++refused;
  else if (!table && file.is_valid() && file.machine() == EM_X86_64)
    add_unpackable(path);
  return table;
}

// Also stores the stamp of the file; for a copy, that of the original. Closes the copy, because a
// recorder that runs for days may request more files than may be copied in total.
std::optional<UnwindTable> UnwindTables::Shared::make_table(const Request& request,
                                                            TableFile& file) {
  const std::string& path = file.mapping.path;
  if (request.is_vdso) return make_table(ElfFile(get_own_vdso()), path);
  if (const std::uint64_t now = monotonic_ns(); now - timeouts_cleared_ns > kTimeoutIntervalNs) {
    timeouts_cleared_ns = now;
    files.clear_timeouts();
  }
  sdk::Fd fd = files.open_by_kernel_id(request.file.process, request.file.mapping, request.status);
  file.stamp = files.stamp().value_or(FileStamp());
  if (files.overlay_file().inode != 0) {
    file.layer = request.file.mapping.file;
    file.mapping.file = files.overlay_file();
    file.mapping.path = files.overlay_path();
  }
  const bool is_requested_file =
      fd && KernelStatus{file.stamp.size, file.stamp.changed_ns} == request.status;
  auto table = is_requested_file ? make_table(ElfFile(fd.get()), path) : std::nullopt;
  files.close(std::move(fd));
  return table;
}

UnwindTables::UnwindTables(int proc, const Options& options) : proc_(proc), options_(options) {}

UnwindTables::~UnwindTables() {
  if (shared_) stop_helper(thread_, *shared_, options_.close_timeout);
}

void UnwindTables::request(const ctprof_table_request* request) {
  if (!shared_) {
    shared_ = std::make_shared<Shared>(proc_, options_);
    shared_->is_running = true;
    thread_ = start_helper(shared_, [](Shared& shared) { shared.answer_all(); });
  }
  const std::lock_guard lock(shared_->mutex);
  Request new_request;
  if (request) new_request.number = request->request;
  if (!is_valid(request) || !shared_->is_running) return shared_->store({new_request.number, {}});
  if (++requests_ > options_.max_tables) {
    ++shared_->refused;
    return shared_->store({new_request.number, {}});
  }
  new_request.is_vdso = (request->flags & CTPROF_TABLE_OF_VDSO) != 0;
  new_request.status = {
      request->file_size,
      static_cast<std::uint64_t>(request->changed_s) * kNsPerSecond + request->changed_ns};
  new_request.file = {
      request->tgid,
      {request->start, request->start + request->length, request->offset,
       FileId{makedev(request->device_major, request->device_minor), request->inode},
       std::string(request->path.data, request->path.size)},
      {}};
  if (new_request.is_vdso) new_request.file.mapping.path = "[vdso]";
  shared_->queue.push_back(std::move(new_request));
  shared_->changed.notify_all();
}

// The plugin may be older or newer than this core: fields that it does not have are omitted.
void UnwindTables::export_table(const Answer& answer, ctprof_unwind_table& table) {
  ctprof_unwind_table fields{};
  fields.size = table.size;
  fields.request = answer.request;
  if (delivered_) {
    files_.push_back(answer.file);
    fields.number = static_cast<std::uint32_t>(files_.size());
    fields.first_page = delivered_->first_page;
    fields.pages = delivered_->pages.data();
    fields.rows = delivered_->rows.data();
    fields.rules = delivered_->rules.data();
    fields.pages_count = static_cast<std::uint32_t>(delivered_->pages.size());
    fields.rows_count = static_cast<std::uint32_t>(delivered_->rows.size());
    fields.rules_count = static_cast<std::uint32_t>(delivered_->rules.size());
  }
  std::memcpy(static_cast<void*>(&table), &fields,
              std::min<std::size_t>(table.size, sizeof fields));
}

std::int32_t UnwindTables::next(ctprof_unwind_table* table) {
  delivered_.reset();
  if (!shared_ || !table) return 0;
  std::unique_lock lock(shared_->mutex);
  if (shared_->answers.empty()) return 0;
  Answer answer = std::move(shared_->answers.front());
  shared_->answers.pop_front();
  if (answer.table) shared_->bytes -= answer.table->get_memory_size();
  lock.unlock();
  delivered_ = std::move(answer.table);
  export_table(answer, *table);
  return 1;
}

std::uint64_t UnwindTables::count_refused() const { return shared_ ? shared_->refused.load() : 0; }

std::vector<std::string> UnwindTables::list_unpackable_files() const {
  if (!shared_) return {};
  const std::lock_guard lock(shared_->mutex);
  return shared_->unpackable_files;
}

std::uint64_t UnwindTables::take_cpu_ns() { return shared_ ? shared_->cpu_ns.exchange(0) : 0; }

}  // namespace ctprof

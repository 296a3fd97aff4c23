#include "core/capture/unwind_tables.hpp"

#include <sys/sysmacros.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/record_arena.hpp"
#include "core/capture/target_files.hpp"
#include "core/stacks/cfi.hpp"
#include "core/stacks/modules.hpp"

namespace ctprof {

struct UnwindTables::Request {
  std::uint64_t number = 0;
  TableFile file;
  bool is_vdso = false;
  std::uint64_t size = 0;
  std::uint64_t changed_unix_ns = 0;
};

struct UnwindTables::Answer {
  std::uint64_t request = 0;
  TableFile file;
  std::optional<UnwindTable> table = {};
};

struct UnwindTables::Shared {
  Shared(int proc, std::uint64_t steps_limit) : files(proc), most_steps(steps_limit) {}

  void answer_all();
  std::optional<UnwindTable> table_of(const Request& request, TableFile& file);
  std::optional<UnwindTable> table_of(const ElfFile& file);
  void keep(Answer answer);

  TargetFiles files;                // used by the thread
  std::uint64_t late_since_ns = 0;  // when timeouts were last cleared
  const std::uint64_t most_steps;
  std::uint64_t steps = 0;  // used by the thread
  std::atomic<std::uint64_t> cpu_ns{0};
  std::atomic<std::uint64_t> refused{0};  // requests refused by a limit on all tables
  std::mutex mutex;                       // protects all members below
  std::condition_variable changed;
  std::deque<Request> wanted;
  std::deque<Answer> answers;
  std::size_t bytes = 0;  // of the tables in `answers`
  bool runs = false;
  bool ends = false;
};

namespace {

constexpr std::size_t kLeastRequest = sizeof(ctprof_table_request);
// A recorder may run for days: files that timed out a minute ago may be opened again.
constexpr std::uint64_t kForgetLateNs = 60 * kNsPerSecond;

bool is_sound(const ctprof_table_request* request) {
  return request && request->size >= kLeastRequest &&
         request->path.size <= RecordArena::kMostText &&
         (request->path.data || request->path.size == 0) &&
         request->length <= UINT64_MAX - request->start;
}

}  // namespace

// Runs in the worker thread. Processes the smallest file first: a stack needs the tables of all its
// modules, and most stacks have few large ones.
void UnwindTables::Shared::answer_all() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return ends || !wanted.empty(); });
    if (ends) break;
    const auto next = std::ranges::min_element(wanted, {}, &Request::size);
    const Request request = std::move(*next);
    wanted.erase(next);
    lock.unlock();
    const std::uint64_t begin = thread_cpu_time_ns();
    Answer answer{request.number, request.file};
    answer.table = table_of(request, answer.file);
    cpu_ns += thread_cpu_time_ns() - begin;
    lock.lock();
    keep(std::move(answer));
  }
  runs = false;
  changed.notify_all();
}

void UnwindTables::Shared::keep(Answer answer) {
  const std::size_t more = answer.table ? answer.table->bytes() : 0;
  if (bytes + more > kMostBytes) answer.table.reset();
  if (answer.table) bytes += more;
  answers.push_back(std::move(answer));
}

std::optional<UnwindTable> UnwindTables::Shared::table_of(const ElfFile& file) {
  PackLimits limits;
  const std::uint64_t left = most_steps - std::min(steps, most_steps);
  if (left == 0) return ++refused, std::nullopt;
  limits.steps = std::min(limits.steps, left);
  const Cfi cfi(file);
  auto table = pack_rules(file, cfi, limits);
  steps += cfi.steps();
  if (!table && cfi.steps() > left) ++refused;
  return table;
}

// Also stores the stamp of the file; for a copy, that of the original. Closes the copy, because a
// recorder that runs for days may request more files than may be copied in total.
std::optional<UnwindTable> UnwindTables::Shared::table_of(const Request& request, TableFile& file) {
  if (request.is_vdso) return table_of(ElfFile(own_vdso()));
  if (const std::uint64_t now = monotonic_ns(); now - late_since_ns > kForgetLateNs) {
    late_since_ns = now;
    files.forget_late();
  }
  sdk::Fd fd = files.open_stored(request.file.process, request.file.mapping);
  file.stamp = files.stamp().value_or(FileStamp());
  // All containers of an image share the layer's file, but each lists it as a separate file. Symbol
  // names would be read through the container that requested it first, even after that has exited.
  const bool is_on_overlay = files.on_overlay().inode != 0;
  const bool is_the_content = fd && !is_on_overlay && files.stamp() &&
                              file.stamp.size == request.size &&
                              file.stamp.changed_ns == request.changed_unix_ns;
  auto table = is_the_content ? table_of(ElfFile(fd.get())) : std::nullopt;
  files.close(std::move(fd));
  return table;
}

UnwindTables::UnwindTables(int proc, std::chrono::milliseconds patience, std::size_t most_tables,
                           std::uint64_t most_steps)
    : proc_(proc), patience_(patience), most_tables_(most_tables), most_steps_(most_steps) {}

UnwindTables::~UnwindTables() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(shared_->mutex);
  shared_->ends = true;
  shared_->changed.notify_all();
  const bool ended = shared_->changed.wait_for(lock, patience_, [&] { return !shared_->runs; });
  lock.unlock();
  ended ? thread_.join() : thread_.detach();
}

void UnwindTables::want(const ctprof_table_request* request) {
  if (!shared_) {
    shared_ = std::make_shared<Shared>(proc_, most_steps_);
    shared_->runs = true;
    try {
      thread_ = std::thread([shared = shared_] { shared->answer_all(); });
    } catch (const std::system_error&) {
      shared_->runs = false;  // RLIMIT_NPROC permits no more threads
    }
  }
  const std::lock_guard lock(shared_->mutex);
  Request wanted;
  if (request) wanted.number = request->request;
  if (!is_sound(request) || !shared_->runs) return shared_->keep({wanted.number, {}});
  if (++requests_ > most_tables_) {
    ++shared_->refused;
    return shared_->keep({wanted.number, {}});
  }
  wanted.is_vdso = (request->flags & CTPROF_TABLE_OF_VDSO) != 0;
  wanted.size = request->file_size;
  wanted.changed_unix_ns =
      static_cast<std::uint64_t>(request->changed_s) * kNsPerSecond + request->changed_ns;
  wanted.file = {request->tgid,
                 {request->start, request->start + request->length, request->offset,
                  FileId{makedev(request->device_major, request->device_minor), request->inode},
                  std::string(request->path.data, request->path.size)},
                 {}};
  if (wanted.is_vdso) wanted.file.mapping.path = "[vdso]";
  shared_->wanted.push_back(std::move(wanted));
  shared_->changed.notify_all();
}

// The plugin may be older or newer than this core: fields that it does not have are omitted.
void UnwindTables::hand_over(const Answer& answer, ctprof_unwind_table& table) {
  ctprof_unwind_table full{};
  full.size = table.size;
  full.request = answer.request;
  if (current_) {
    files_.push_back(answer.file);
    full.number = static_cast<std::uint32_t>(files_.size());
    full.first_page = current_->first_page;
    full.pages = current_->pages.data();
    full.rows = current_->rows.data();
    full.rules = current_->rules.data();
    full.pages_count = static_cast<std::uint32_t>(current_->pages.size());
    full.rows_count = static_cast<std::uint32_t>(current_->rows.size());
    full.rules_count = static_cast<std::uint32_t>(current_->rules.size());
  }
  std::memcpy(static_cast<void*>(&table), &full, std::min<std::size_t>(table.size, sizeof full));
}

std::int32_t UnwindTables::next(ctprof_unwind_table* table) {
  current_.reset();
  if (!shared_ || !table) return 0;
  std::unique_lock lock(shared_->mutex);
  if (shared_->answers.empty()) return 0;
  Answer answer = std::move(shared_->answers.front());
  shared_->answers.pop_front();
  if (answer.table) shared_->bytes -= answer.table->bytes();
  lock.unlock();
  current_ = std::move(answer.table);
  hand_over(answer, *table);
  return 1;
}

std::uint64_t UnwindTables::refused() const { return shared_ ? shared_->refused.load() : 0; }

std::uint64_t UnwindTables::take_cpu_ns() { return shared_ ? shared_->cpu_ns.exchange(0) : 0; }

}  // namespace ctprof

#include "plugins/jemalloc-ptrace/heap_duty.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "plugins/jemalloc-ptrace/counters_read.hpp"
#include "plugins/jemalloc-ptrace/mounts.hpp"
#include "plugins/jemalloc-ptrace/program.hpp"

namespace ctprof::jemalloc {
namespace {

// Writes the next access to the board before it starts.
class BoardWatch final : public Watch {
 public:
  BoardWatch(Board& board, std::atomic<std::uint32_t>& steps) : board_(board), steps_(steps) {}

  bool allows(const Ahead& ahead) override {
    if (ahead.device != 0 && avoids(ahead.device)) return false;
    board_.device = ahead.device;
    board_.address = ahead.address;
    board_.operation = ahead.operation;
    ++steps_;
    return true;
  }

  bool avoids(std::uint64_t device) const {
    return std::ranges::find(avoided(), device) != avoided().end();
  }
  std::span<const std::uint64_t> avoided() const {
    return {board_.avoided, std::min(board_.avoided_count, kMostAvoided)};
  }

 private:
  Board& board_;
  std::atomic<std::uint32_t>& steps_;
};

ctprof_host host_of(int proc) {
  ctprof_host host{};
  host.size = sizeof host;
  host.flags = CTPROF_HOST_LIVE | CTPROF_HOST_OWN_TIDS;
  host.proc = "/proc";
  host.proc_fd = proc;
  return host;
}

class HeapDuty {
 public:
  explicit HeapDuty(const HelperView& view)
      : proc_(view.proc),
        board_(*static_cast<Board*>(view.area)),
        watch_(board_, *view.steps),
        host_(host_of(view.proc)),
        finder_(sdk::Host(host_), &watch_) {}

  void serve() {
    for (std::uint32_t i = 0; i < std::min(board_.released_count, kMostReleased); ++i)
      programs_.erase(board_.released[i]);
    const std::uint32_t count = std::min(board_.count, kMostItems);
    for (std::uint32_t i = 0; i < count; ++i) {
      switch (board_.request) {
        case Request::Find: find(board_.finds[i]); break;
        case Request::Read: read(board_.reads[i]); break;
        case Request::Name: name(board_.name); break;
      }
      board_.done = i + 1;
    }
    board_.operation = Operation::Nothing;
  }

 private:
  bool still_runs(ProgramNumber number) {
    watch_.allows({.operation = Operation::Mappings});
    const auto found = programs_.find(number);
    return found != programs_.end() && found->second.still_runs();
  }

  // The program is opened before it is examined, so that a later execve is detected.
  void find(FindItem& item) {
    item.same = item.known != 0 && still_runs(item.known) ? 1 : 0;
    if (item.same != 0) return;
    watch_.allows({.operation = Operation::Mappings});
    Program program(proc_, item.tid);
    item.error = 0;
    item.attach = static_cast<std::uint32_t>(Attach::NotJemalloc);
    if (item.has_few_threads != 0 && finder_.dismisses(program.maps())) return;
    Found found = try_to_find(item.tid);
    // A process that is just starting moves its mappings; the second attempt sees the final ones.
    if (found.attach == Attach::Unreadable) found = try_to_find(item.tid);
    if (found.attach == Attach::Found) programs_.insert_or_assign(item.program, std::move(program));
    item.counters = found.counters;
    item.error = found.error;
    item.attach = static_cast<std::uint32_t>(found.attach);
  }

  Found try_to_find(std::uint64_t tid) {
    try {
      return finder_.find(tid);
    } catch (const std::bad_alloc&) {
      return {Attach::TooCostly, {}, EFBIG};
    }
  }

  void read(ReadItem& item) {
    const auto threads = threads_of(item);
    tracees_.clear();
    for (const ReadThread& thread : threads)
      tracees_.push_back(
          {.tgid = thread.tgid, .tid = thread.tid, .pointer = thread.pointer, .outcome = {}});
    if (!tracees_.empty()) {
      if (item.adopt == 1)
        programs_.try_emplace(item.program, proc_,
                              static_cast<std::uint64_t>(tracees_.front().tid));
      leave_out_avoided(item.counters);
    }
    watch_.allows({.operation = Operation::Memory});
    const auto readings = memory_.read(tracees_, item.counters);
    for (std::size_t i = 0; i < threads.size(); ++i) {
      threads[i].failed = static_cast<std::uint32_t>(tracees_[i].outcome.failed);
      threads[i].error = tracees_[i].outcome.error;
      threads[i].allocated = readings[i].allocated;
      threads[i].deallocated = readings[i].deallocated;
    }
    item.still_runs = still_runs(item.program) ? 1 : 0;
  }

  std::span<ReadThread> threads_of(const ReadItem& item) const {
    if (item.first > kMostItems || item.count > kMostItems - item.first) return {};
    return {board_.threads + item.first, item.count};
  }

  // Skips tracees whose counters are in a mapping of a file on an avoided file system. A hostile
  // program may have such a mapping.
  void leave_out_avoided(const Counters& counters) {
    if (watch_.avoided().empty()) return;
    watch_.allows({.operation = Operation::Mappings});
    const auto ranges = mappings_of(proc_, static_cast<std::uint64_t>(tracees_.front().tid));
    for (Tracee& tracee : tracees_)
      for (const CounterPair& pair : counters.all()) {
        const auto extent = extent_of(tracee.pointer, pair);
        if (extent && watch_.avoids(device_at(ranges, extent->address)))
          tracee.outcome = {ProbeStep::ReadMemory, EBUSY};
      }
  }

  void name(NameItem& item) {
    watch_.allows({.operation = Operation::Mappings});
    item.named = item.device != 0 ? item.device : device_in_question(item);
    const std::string place = mount_point(proc_, item.tid, item.named);
    std::memset(item.place, 0, sizeof item.place);
    std::memcpy(item.place, place.data(), std::min(place.size(), sizeof item.place - 1));
  }

  // Without an address, finds the first counters on the board that are in the mapping of a file.
  std::uint64_t device_in_question(const NameItem& item) const {
    const auto ranges = mappings_of(proc_, item.tid);
    if (item.address != 0) return device_at(ranges, item.address);
    for (const ReadThread& thread : threads_of(board_.reads[0]))
      for (const CounterPair& pair : board_.reads[0].counters.all()) {
        const auto extent = extent_of(thread.pointer, pair);
        const std::uint64_t device = extent ? device_at(ranges, extent->address) : 0;
        if (device != 0 && !watch_.avoids(device)) return device;
      }
    return 0;
  }

  int proc_;
  Board& board_;
  BoardWatch watch_;
  ctprof_host host_;
  Finder finder_;
  CountersRead memory_;
  std::vector<Tracee> tracees_;
  std::map<ProgramNumber, Program> programs_;
};

}  // namespace

HelperProcess::Serve begin_heap_duty(const HelperView& view) {
  return [duty = std::make_shared<HeapDuty>(view)] { duty->serve(); };
}

}  // namespace ctprof::jemalloc

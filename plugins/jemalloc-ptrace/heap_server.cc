#include "plugins/jemalloc-ptrace/heap_server.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "plugins/jemalloc-ptrace/counter_reader.hpp"
#include "plugins/jemalloc-ptrace/mounts.hpp"
#include "plugins/jemalloc-ptrace/program.hpp"

namespace ctprof::jemalloc {
namespace {

// Writes the next access to the shared area before it starts.
class AreaAccessMonitor final : public AccessMonitor {
 public:
  AreaAccessMonitor(SharedArea& board, std::atomic<std::uint32_t>& steps)
      : board_(board), steps_(steps) {}

  bool allows(const Access& next_access) override {
    if (next_access.device != 0 && is_avoided(next_access.device)) return false;
    board_.device = next_access.device;
    board_.address = next_access.address;
    board_.operation = next_access.operation;
    ++steps_;
    return true;
  }

  bool is_avoided(std::uint64_t device) const {
    return std::ranges::find(avoided_devices(), device) != avoided_devices().end();
  }
  std::span<const std::uint64_t> avoided_devices() const {
    return {board_.avoided_devices, std::min(board_.avoided_count, kMaxAvoidedDevices)};
  }

 private:
  SharedArea& board_;
  std::atomic<std::uint32_t>& steps_;
};

ctprof_host make_host(int proc) {
  ctprof_host host{};
  host.size = sizeof host;
  host.flags = CTPROF_HOST_LIVE | CTPROF_HOST_OWN_TIDS;
  host.proc = "/proc";
  host.proc_fd = proc;
  return host;
}

class HeapServer {
 public:
  explicit HeapServer(const HelperContext& view)
      : proc_(view.proc),
        board_(*static_cast<SharedArea*>(view.area)),
        watch_(board_, *view.steps),
        host_(make_host(view.proc)),
        finder_(sdk::Host(host_), &watch_) {}

  void serve() {
    for (std::uint32_t i = 0; i < std::min(board_.released_count, kMaxReleased); ++i)
      programs_.erase(board_.released[i]);
    const std::uint32_t count = std::min(board_.count, kMaxItems);
    for (std::uint32_t i = 0; i < count; ++i) {
      switch (board_.request) {
        case Request::Find: find(board_.finds[i]); break;
        case Request::Read: read(board_.reads[i]); break;
        case Request::Name: name_mount(board_.name); break;
      }
      board_.answered_count = i + 1;
    }
    board_.operation = Operation::Nothing;
  }

 private:
  bool is_still_running(ProgramNumber number) {
    watch_.allows({.operation = Operation::Mappings});
    const auto found = programs_.find(number);
    return found != programs_.end() && found->second.is_still_running();
  }

  // The program is opened before it is examined, so that a later execve is detected.
  void find(FindItem& item) {
    item.is_same_program = item.known_program != 0 && is_still_running(item.known_program) ? 1 : 0;
    if (item.is_same_program != 0) return;
    watch_.allows({.operation = Operation::Mappings});
    Program program(proc_, item.tid);
    item.error = 0;
    item.status = static_cast<std::uint32_t>(FindStatus::NotJemalloc);
    if (item.has_few_threads != 0 && finder_.is_known_without_jemalloc(program.maps())) return;
    FindResult found = find_counters(item.tid);
    // A process that is just starting moves its mappings; the second attempt sees the final ones.
    if (found.status == FindStatus::Unreadable) found = find_counters(item.tid);
    if (found.status == FindStatus::Found)
      programs_.insert_or_assign(item.program, std::move(program));
    item.counters = found.counters;
    item.error = found.error;
    item.status = static_cast<std::uint32_t>(found.status);
  }

  FindResult find_counters(std::uint64_t tid) {
    try {
      return finder_.find(tid);
    } catch (const std::bad_alloc&) {
      return {FindStatus::TooCostly, {}, EFBIG};
    }
  }

  void read(ReadItem& item) {
    const auto threads = threads_of_item(item);
    tracees_.clear();
    for (const ReadThread& thread : threads)
      tracees_.push_back(
          {.tgid = thread.tgid, .tid = thread.tid, .pointer = thread.pointer, .outcome = {}});
    if (!tracees_.empty()) {
      if (item.must_open_program == 1)
        programs_.try_emplace(item.program, proc_,
                              static_cast<std::uint64_t>(tracees_.front().tid));
      skip_avoided_devices(item.counters);
    }
    watch_.allows({.operation = Operation::Memory});
    const auto readings = memory_.read(tracees_, item.counters);
    for (std::size_t i = 0; i < threads.size(); ++i) {
      threads[i].failed_step = static_cast<std::uint32_t>(tracees_[i].outcome.failed_step);
      threads[i].error = tracees_[i].outcome.error;
      threads[i].allocated = readings[i].allocated;
      threads[i].deallocated = readings[i].deallocated;
    }
    item.is_still_running = is_still_running(item.program) ? 1 : 0;
  }

  std::span<ReadThread> threads_of_item(const ReadItem& item) const {
    if (item.first > kMaxItems || item.count > kMaxItems - item.first) return {};
    return {board_.threads + item.first, item.count};
  }

  // Skips tracees whose counters are in a mapping of a file on an avoided file system. A hostile
  // program may have such a mapping.
  void skip_avoided_devices(const Counters& counters) {
    if (watch_.avoided_devices().empty()) return;
    watch_.allows({.operation = Operation::Mappings});
    const auto ranges = read_file_ranges(proc_, static_cast<std::uint64_t>(tracees_.front().tid));
    for (Tracee& tracee : tracees_)
      for (const CounterPair& pair : counters.valid_pairs()) {
        const auto extent = find_extent(tracee.pointer, pair);
        if (extent && watch_.is_avoided(find_device(ranges, extent->address)))
          tracee.outcome = {ProbeStep::ReadMemory, EBUSY};
      }
  }

  void name_mount(NameItem& item) {
    watch_.allows({.operation = Operation::Mappings});
    item.found_device = item.device != 0 ? item.device : find_item_device(item);
    const std::string mount_path = read_mount_point(proc_, item.tid, item.found_device);
    std::memset(item.mount_point, 0, sizeof item.mount_point);
    std::memcpy(item.mount_point, mount_path.data(),
                std::min(mount_path.size(), sizeof item.mount_point - 1));
  }

  // Without an address, finds the first counters in the shared area that are in the mapping of a
  // file.
  std::uint64_t find_item_device(const NameItem& item) const {
    const auto ranges = read_file_ranges(proc_, item.tid);
    if (item.address != 0) return find_device(ranges, item.address);
    for (const ReadThread& thread : threads_of_item(board_.reads[0]))
      for (const CounterPair& pair : board_.reads[0].counters.valid_pairs()) {
        const auto extent = find_extent(thread.pointer, pair);
        const std::uint64_t device = extent ? find_device(ranges, extent->address) : 0;
        if (device != 0 && !watch_.is_avoided(device)) return device;
      }
    return 0;
  }

  int proc_;
  SharedArea& board_;
  AreaAccessMonitor watch_;
  ctprof_host host_;
  Finder finder_;
  CounterReader memory_;
  std::vector<Tracee> tracees_;
  std::map<ProgramNumber, Program> programs_;
};

}  // namespace

HelperProcess::RequestHandler start_heap_server(const HelperContext& view) {
  return [duty = std::make_shared<HeapServer>(view)] { duty->serve(); };
}

}  // namespace ctprof::jemalloc

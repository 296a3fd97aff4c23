// task-iter: who the threads are, and nearly all that is known of them, in one pass through the kernel's own list.
//
// Source: a BPF program that the kernel runs for each thread (iter/task), which copies a thousand bytes of task_struct and what hangs on it. No
// file is opened for a thread but to learn the names of kernel threads, and one for each cgroup. The figures are those of procfs-sched and taskstats, at a
// twentieth of the cost and all within milliseconds; those sources fill what this one cannot.
//
// What is here:   the source and the plugin's table.
// What is not:    the program (task_iter.bpf.c), loading and reading (pass.cc), what figures mean (decode.cc), what the host lacks
//                 (probe.cc).

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ctprof/plugin.hpp"
#include "plugins/procfs-sched/thread_files.hpp"
#include "plugins/task-iter/cgroups.hpp"
#include "plugins/task-iter/columns.hpp"
#include "plugins/task-iter/names.hpp"
#include "plugins/task-iter/pass.hpp"
#include "plugins/task-iter/probe.hpp"
#include "plugins/task-iter/unseen.hpp"

namespace ctprof::task_iter {
namespace {

// A room of a listing, and its columns.
struct Room {
  explicit Room(const sdk::Batch& of) : batch(of), columns(of), comm(of.column(sdk::kComm)), cgroup(of.column(sdk::kCgroup)) {}

  sdk::Batch batch;
  Columns columns;
  sdk::Column<CTPROF_STRING> comm;
  sdk::Column<CTPROF_STRING> cgroup;
  std::uint32_t rows = 0;
};

// Only some processes' threads; none: all.
bool is_wanted(const record& task, std::span<const std::uint64_t> pids) {
  return pids.empty() || std::find(pids.begin(), pids.end(), task.tgid) != pids.end();
}

class Tasks : public sdk::ListSource {
 public:
  static constexpr const char* kName = "tasks";
  static constexpr std::int32_t kRank = 20;  // before taskstats, and /proc
  static constexpr auto kOffers = joined(Columns::kOffers, sdk::offers(sdk::kComm, sdk::kCgroup));

  static constexpr std::uint32_t kUnseen = procfs::kTallies;  // behind those of the files
  static constexpr std::uint32_t kTallies = kUnseen + 1;

  explicit Tasks(const sdk::Host& host) : host_(host), facts_(facts_of(host)), names_(host), cgroups_(host), files_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_host(host, probe); }
  static void summarise(const sdk::Summary& summary) {
    if (summary.tally(kUnseen) > 0)
      summary.note("task-iter: this kernel keeps " + std::to_string(summary.tally(kUnseen)) +
                   " threads from BPF programs; they were read from /proc, and their delays are not known");
  }

  void list(const sdk::Listing& listing) {
    Unseen unseen(host_, facts_.ns_per_tick);
    seen_.clear();
    std::optional<Room> room;
    if (!list_seen(listing, room)) return;
    for (const UnseenThread& thread : unseen.find(seen_, listing.pids())) {
      if (!has_room(listing, room)) return;
      put(*room, thread);
    }
    if (room) listing.commit(room->rows);
  }

 private:
  // False when ctprof has had enough.
  bool list_seen(const sdk::Listing& listing, std::optional<Room>& room) {
    int error = 0;
    Program* program = Program::loaded(error);
    if (!program) throw std::runtime_error("loading the BPF program: " + std::string(std::strerror(error)));
    const Wanted wanted = wanted_of(listing.pids());
    Pass pass(*program, wanted);
    for (auto records = pass.read(); !records.empty(); records = pass.read())
      for (std::size_t at = 0; at < records.size(); at += record_size(wanted.cpu_words)) {
        const auto& task = *reinterpret_cast<const record*>(records.data() + at);
        if (!is_wanted(task, listing.pids())) continue;
        if (!has_room(listing, room)) return false;
        put(*room, task);
      }
    return true;
  }

  Wanted wanted_of(std::span<const std::uint64_t> pids) const {
    return {.tgid = pids.size() == 1 ? static_cast<std::uint32_t>(pids.front()) : 0,
            .cpu_words = static_cast<std::uint32_t>(std::min<std::size_t>(facts_.online.size(), RECORD_CPU_WORDS))};
  }

  // Makes sure that there is a row to fill; false when ctprof has had enough.
  static bool has_room(const sdk::Listing& listing, std::optional<Room>& room) {
    if (room && room->rows < CTPROF_MAX_ROWS) return true;
    if (room) listing.commit(room->rows);
    room.reset();
    if (const auto batch = listing.room()) room.emplace(*batch);
    return room.has_value();
  }

  void put(Room& room, const record& task) {
    const std::uint32_t row = room.rows++;
    if (is_leader(task)) seen_.push_back(task.tgid);
    room.columns.put(row, task, facts_);
    room.comm.put(row, names_.of(task));
    if (room.cgroup) room.cgroup.put(row, cgroups_.of(task));
  }

  // What /proc knows of a thread that the pass did not meet, and of the rest that we may not know it.
  void put(Room& room, const UnseenThread& thread) {
    const std::uint32_t row = room.rows++;
    room.batch.tally(kUnseen);
    room.columns.fail(row, Gap::Denied);
    Identity(room.batch).put(row, thread.tgid, thread.tid, thread.start_ticks);
    room.comm.put(row, thread.name);
    if (room.cgroup) room.cgroup.put(row, cgroups_.read(thread.tgid, thread.tid));
    procfs::ThreadColumns columns(room.batch);
    files_.fill(columns, {row, thread.tgid, thread.tid, -1}, Gap::Unsupported, room.batch);
  }

  sdk::Host host_;
  Facts facts_;
  Names names_;
  Cgroups cgroups_;
  procfs::ThreadFiles files_;
  std::vector<std::uint32_t> seen_;  // processes, ascending
};

}  // namespace
}  // namespace ctprof::task_iter

CTPROF_PLUGIN("task-iter", "1.0", "Every thread and most of its figures in one pass of a BPF program over the kernel's list.",
              ctprof::task_iter::Tasks)

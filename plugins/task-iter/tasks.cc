#include "plugins/task-iter/tasks.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "plugins/shared/clock.hpp"
#include "plugins/task-iter/context.hpp"
#include "plugins/task-iter/read_ahead.hpp"

namespace ctprof::task_iter {
namespace {

// Returns whether the thread belongs to one of the processes; empty: all.
bool is_wanted(const record& task, std::span<const std::uint64_t> pids) {
  return pids.empty() || std::find(pids.begin(), pids.end(), task.tgid) != pids.end();
}

using UnseenIdentity =
    sdk::Table<sdk::Fill<sdk::kTgid, &UnseenThread::tgid>, sdk::Fill<sdk::kTid, &UnseenThread::tid>,
               sdk::Fill<sdk::kStartTime, &UnseenThread::start_ticks>,
               sdk::Fill<sdk::kParent, &UnseenThread::parent>,
               sdk::Fill<sdk::kKernelThread, &UnseenThread::kernel_thread>>;

}  // namespace

Tasks::Room::Room(const sdk::Batch& of)
    : batch(of),
      columns(of),
      places(of),
      comm(of.column(sdk::kComm)),
      cgroup(of.column(sdk::kCgroup)) {}

Tasks::Tasks(const sdk::Host& host)
    : host_(host), facts_(facts_of(host)), names_(host), cgroups_(host) {}

void Tasks::summarise(const sdk::Summary& summary) {
  if (summary.tally(kUnseen) > 0)
    summary.note("task-iter: this kernel hides " + std::to_string(summary.tally(kUnseen)) +
                 " threads from BPF programs; other sources provide their values");
}

void Tasks::list(const sdk::Listing& listing) {
  Unseen unseen(host_, clock_ns(CLOCK_BOOTTIME));
  seen_.clear();
  std::optional<Room> room;
  if (!list_seen(listing, unseen, room) || !list(listing, unseen.find(seen_, listing.pids()), room))
    return;
  if (room) listing.commit(room->rows);
}

bool Tasks::list(const sdk::Listing& listing, std::span<const UnseenThread> threads,
                 std::optional<Room>& room) {
  for (const UnseenThread& thread : threads) {
    if (!has_room(listing, room)) return false;
    put(*room, thread);
  }
  return true;
}

bool Tasks::list_seen(const sdk::Listing& listing, Unseen& unseen, std::optional<Room>& room) {
  int error = 0;
  Program* program = host_.context<Context>().program(error);
  if (!program)
    throw std::runtime_error("loading the BPF program: " + std::string(std::strerror(error)));
  const Wanted wanted = wanted_of(listing.pids());
  facts_.extensible_class = extensible_class(host_);
  if (!has_room(listing, room)) return false;
  if (room->places) host_.context<Context>().prepare();
  Pass pass(*program, wanted);
  ReadAhead ahead(pass, wanted.tgid != 0);
  for (auto records = ahead.read(); !records.empty(); records = ahead.read())
    for (std::size_t at = 0; at < records.size(); at += record_size(wanted.cpu_words)) {
      const auto& task = *reinterpret_cast<const record*>(records.data() + at);
      if (!is_wanted(task, listing.pids())) continue;
      if (seen_.empty() && listing.pids().empty() && task.tgid != kFirstProcess) {
        seen_.push_back(kFirstProcess);
        if (!list(listing, unseen.first(), room)) return false;
      }
      if (!has_room(listing, room)) return false;
      put(*room, task);
    }
  return true;
}

Wanted Tasks::wanted_of(std::span<const std::uint64_t> pids) const {
  return {.tgid = pids.size() == 1 ? static_cast<std::uint32_t>(pids.front()) : 0,
          .cpu_words = static_cast<std::uint32_t>(
              std::min<std::size_t>(facts_.online.size(), RECORD_CPU_WORDS))};
}

// Ensures that there is a row to fill. Returns false if ctprof accepts no more rows.
bool Tasks::has_room(const sdk::Listing& listing, std::optional<Room>& room) {
  if (room && room->rows < CTPROF_MAX_ROWS) return true;
  if (room) listing.commit(room->rows);
  room.reset();
  if (const auto batch = listing.room()) room.emplace(*batch);
  return room.has_value();
}

void Tasks::put(Room& room, const record& task) {
  const std::uint32_t row = room.rows++;
  if (is_leader(task)) seen_.push_back(task.tgid);
  room.columns.put(row, task, facts_);
  if (room.places) room.places.put(row, task);
  room.comm.put(row, names_.of(task));
  if (room.cgroup) room.cgroup.put(row, cgroups_.of(task));
}

// Writes a thread that the pass did not visit: its identity from /proc. Other sources provide the
// rest.
void Tasks::put(Room& room, const UnseenThread& thread) {
  const std::uint32_t row = room.rows++;
  room.batch.tally(kUnseen);
  room.columns.fail(row, Gap::Unseen);
  room.places.fail(row, Gap::Denied);
  UnseenIdentity(room.batch).put(row, thread);
  room.comm.put(row, thread.name);
  if (room.cgroup) room.cgroup.put(row, cgroups_.read(thread.tgid, thread.tid));
}

}  // namespace ctprof::task_iter

#include "plugins/task-iter/thread_lister.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "core/base/clock.hpp"
#include "plugins/task-iter/context.hpp"
#include "plugins/task-iter/read_ahead.hpp"

namespace ctprof::task_iter {
namespace {

// Returns whether the thread belongs to one of the processes; empty: all.
bool is_selected(const record& task, std::span<const std::uint64_t> pids) {
  return pids.empty() || std::find(pids.begin(), pids.end(), task.tgid) != pids.end();
}

using HiddenThreadIdentity =
    sdk::Table<sdk::Fill<sdk::kTgid, &HiddenThread::tgid>, sdk::Fill<sdk::kTid, &HiddenThread::tid>,
               sdk::Fill<sdk::kStartTime, &HiddenThread::start_ticks>,
               sdk::Fill<sdk::kParent, &HiddenThread::parent>,
               sdk::Fill<sdk::kKernelThread, &HiddenThread::is_kernel_thread>>;

}  // namespace

ThreadLister::RowBlock::RowBlock(const sdk::Batch& batch_to_fill)
    : batch(batch_to_fill),
      columns(batch_to_fill),
      memory_addresses(batch_to_fill),
      comm(batch_to_fill.column(sdk::kComm)),
      cgroup(batch_to_fill.column(sdk::kCgroup)) {}

ThreadLister::ThreadLister(const sdk::Host& host)
    : host_(host), facts_(read_host_facts(host)), names_(host), cgroups_(host) {}

void ThreadLister::summarise(const sdk::Summary& summary) {
  if (summary.tally(kHiddenTally) > 0)
    summary.note("task-iter: this kernel hides " + std::to_string(summary.tally(kHiddenTally)) +
                 " threads from BPF programs; other sources provide their values");
}

void ThreadLister::list(const sdk::Listing& listing) {
  HiddenThreads hidden_threads(host_, clock_ns(CLOCK_BOOTTIME));
  visited_tgids_.clear();
  std::optional<RowBlock> block;
  if (!list_visited(listing, hidden_threads, block) ||
      !list(listing, hidden_threads.find(visited_tgids_, listing.pids()), block))
    return;
  if (block) listing.commit(block->rows);
}

bool ThreadLister::list(const sdk::Listing& listing, std::span<const HiddenThread> threads,
                        std::optional<RowBlock>& block) {
  for (const HiddenThread& thread : threads) {
    if (!ensure_free_row(listing, block)) return false;
    write_row(*block, thread);
  }
  return true;
}

bool ThreadLister::list_visited(const sdk::Listing& listing, HiddenThreads& hidden_threads,
                                std::optional<RowBlock>& block) {
  int error = 0;
  Program* program = host_.context<Context>().program(error);
  if (!program)
    throw std::runtime_error("loading the BPF program: " + std::string(std::strerror(error)));
  const PassSelection selection = make_selection(listing.pids());
  facts_.extensible_class = find_extensible_class(host_);
  if (!ensure_free_row(listing, block)) return false;
  if (block->memory_addresses) host_.context<Context>().prepare();
  Pass pass(*program, selection);
  ReadAheadPass ahead(pass, selection.tgid != 0);
  for (auto records = ahead.read(); !records.empty(); records = ahead.read())
    for (std::size_t at = 0; at < records.size(); at += record_size(selection.cpu_words)) {
      const auto& task = *reinterpret_cast<const record*>(records.data() + at);
      if (!is_selected(task, listing.pids())) continue;
      if (visited_tgids_.empty() && listing.pids().empty() && task.tgid != kFirstProcess) {
        visited_tgids_.push_back(kFirstProcess);
        if (!list(listing, hidden_threads.find_in_first_process(), block)) return false;
      }
      if (!ensure_free_row(listing, block)) return false;
      write_row(*block, task);
    }
  return true;
}

PassSelection ThreadLister::make_selection(std::span<const std::uint64_t> pids) const {
  return {.tgid = pids.size() == 1 ? static_cast<std::uint32_t>(pids.front()) : 0,
          .cpu_words = static_cast<std::uint32_t>(
              std::min<std::size_t>(facts_.online_cpus.size(), RECORD_CPU_WORDS))};
}

// Ensures that there is a row to fill. Returns false if ctprof accepts no more rows.
bool ThreadLister::ensure_free_row(const sdk::Listing& listing, std::optional<RowBlock>& block) {
  if (block && block->rows < CTPROF_MAX_ROWS) return true;
  if (block) listing.commit(block->rows);
  block.reset();
  if (const auto batch = listing.room()) block.emplace(*batch);
  return block.has_value();
}

void ThreadLister::write_row(RowBlock& block, const record& task) {
  const std::uint32_t row = block.rows++;
  if (is_leader(task)) visited_tgids_.push_back(task.tgid);
  block.columns.put(row, task, facts_);
  if (block.memory_addresses) block.memory_addresses.put(row, task);
  block.comm.put(row, names_.read_name(task));
  if (block.cgroup) block.cgroup.put(row, cgroups_.read_path(task));
}

// Writes a thread that the pass did not visit: its identity from /proc. Other sources provide the
// rest.
void ThreadLister::write_row(RowBlock& block, const HiddenThread& thread) {
  const std::uint32_t row = block.rows++;
  block.batch.tally(kHiddenTally);
  block.columns.fail(row, Gap::Unseen);
  block.memory_addresses.fail(row, Gap::Denied);
  HiddenThreadIdentity(block.batch).put(row, thread);
  block.comm.put(row, thread.name);
  if (block.cgroup) block.cgroup.put(row, cgroups_.read_path_of_thread(thread.tgid, thread.tid));
}

}  // namespace ctprof::task_iter

// Counts the threads of a group on the first screen: living, started and exited threads.

#include <algorithm>

#include "core/compare/grouping/key_families.hpp"
#include "core/compare/report/recorder_rows.hpp"
#include "core/compare/report/screen.hpp"
#include "core/registry/identity.hpp"
#include "core/window/merge_exited_threads.hpp"

namespace ctprof {

ScreenThreads& ScreenThreads::operator+=(const ScreenThreads& other) {
  living += other.living;
  started += other.started;
  only_at_opening += other.only_at_opening;
  exited += other.exited;
  of_recorder += other.of_recorder;
  kernel_threads += other.kernel_threads;
  return *this;
}

double thread_growth(const ScreenThreads& threads) {
  return threads.started - threads.exited - threads.only_at_opening;
}

std::vector<ScreenThreads> count_screen_threads(
    const GroupedThreads& threads, std::size_t groups,
    std::span<const std::uint32_t> opening_only_groups) {
  const Snapshot& snapshot = *threads.snapshot;
  const Window& window = *snapshot.window;
  const Column* kernel = thread_column(snapshot, kKernelThread, Storage::Bool);
  const RecorderRows recorder_rows(snapshot);
  const auto& is_started = window.openings[static_cast<std::size_t>(Entity::Thread)].started;
  const std::vector<std::uint64_t> threads_of_row = threads_by_row(snapshot);
  std::vector<ScreenThreads> found(groups);
  for (std::size_t row = 0; row < threads.groups.size(); ++row) {
    if (threads.groups[row] == kNoGroup) continue;
    ScreenThreads& group_threads = found[threads.groups[row]];
    const auto count = static_cast<double>(threads_of_row[row]);
    (row < window.living_threads ? group_threads.living : group_threads.exited) += count;
    if (is_started[row] != 0) group_threads.started += count;
    if (recorder_rows.contains(row)) group_threads.of_recorder += count;
    if (is_flag_set(kernel, row)) group_threads.kernel_threads += count;
  }
  for (const std::uint32_t group : opening_only_groups)
    if (group != kNoGroup) ++found[group].only_at_opening;
  return found;
}

void ScreenMedians::add(std::span<const ScreenThreads> run) {
  ++runs_;
  for (std::uint32_t group = 0; group < run.size(); ++group)
    if (run[group].total() > 0) threads_.push_back({group, run[group]});
}

std::vector<ScreenThreads> ScreenMedians::compute(std::size_t groups) && {
  std::vector<ScreenThreads> medians(groups);
  std::ranges::stable_sort(threads_, {}, &GroupThreads::group);
  std::vector<double> counts;
  for (auto first = threads_.begin(); first != threads_.end();) {
    const auto last = std::ranges::find_if(
        first, threads_.end(), [&](const GroupThreads& one) { return one.group != first->group; });
    for (const auto count : {&ScreenThreads::living, &ScreenThreads::started,
                             &ScreenThreads::exited, &ScreenThreads::of_recorder,
                             &ScreenThreads::kernel_threads, &ScreenThreads::only_at_opening}) {
      counts.assign(runs_, 0);
      std::transform(first, last, counts.begin(),
                     [&](const GroupThreads& one) { return one.threads.*count; });
      medians[first->group].*count = median_count(counts);
    }
    first = last;
  }
  return medians;
}

}  // namespace ctprof

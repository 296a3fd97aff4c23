// Counts the threads of a group on the first screen: living, started and exited threads.

#include <algorithm>

#include "core/compare/grouping/key_families.hpp"
#include "core/compare/report/own_rows.hpp"
#include "core/compare/report/screen.hpp"
#include "core/registry/identity.hpp"
#include "core/window/merge_ended.hpp"

namespace ctprof {

ScreenThreads& ScreenThreads::operator+=(const ScreenThreads& other) {
  living += other.living;
  born += other.born;
  opening_only += other.opening_only;
  ended += other.ended;
  own += other.own;
  kernel += other.kernel;
  return *this;
}

double thread_growth(const ScreenThreads& threads) {
  return threads.born - threads.ended - threads.opening_only;
}

std::vector<ScreenThreads> screen_threads(const GroupedThreads& threads, std::size_t groups,
                                          std::span<const std::uint32_t> of_opening_only) {
  const Snapshot& snapshot = *threads.snapshot;
  const Window& window = *snapshot.window;
  const Column* kernel = thread_column(snapshot, kKernelThread, Storage::Bool);
  const OwnRows own(snapshot);
  const auto& born = window.openings[static_cast<std::size_t>(Entity::Thread)].born;
  const std::vector<std::uint64_t> each = threads_by_row(snapshot);
  std::vector<ScreenThreads> found(groups);
  for (std::size_t row = 0; row < threads.groups.size(); ++row) {
    if (threads.groups[row] == kNoGroup) continue;
    ScreenThreads& of_group = found[threads.groups[row]];
    const auto count = static_cast<double>(each[row]);
    (row < window.living ? of_group.living : of_group.ended) += count;
    if (born[row] != 0) of_group.born += count;
    if (own.contains(row)) of_group.own += count;
    if (is_flag_set(kernel, row)) of_group.kernel += count;
  }
  for (const std::uint32_t group : of_opening_only)
    if (group != kNoGroup) ++found[group].opening_only;
  return found;
}

void ScreenMedians::add(std::span<const ScreenThreads> run) {
  ++runs_;
  for (std::uint32_t group = 0; group < run.size(); ++group)
    if (run[group].all() > 0) found_.push_back({group, run[group]});
}

std::vector<ScreenThreads> ScreenMedians::of(std::size_t groups) && {
  std::vector<ScreenThreads> medians(groups);
  std::ranges::stable_sort(found_, {}, &Found::group);
  std::vector<double> counts;
  for (auto first = found_.begin(); first != found_.end();) {
    const auto last = std::ranges::find_if(
        first, found_.end(), [&](const Found& one) { return one.group != first->group; });
    for (const auto count :
         {&ScreenThreads::living, &ScreenThreads::born, &ScreenThreads::ended, &ScreenThreads::own,
          &ScreenThreads::kernel, &ScreenThreads::opening_only}) {
      counts.assign(runs_, 0);
      std::transform(first, last, counts.begin(),
                     [&](const Found& one) { return one.threads.*count; });
      medians[first->group].*count = median_count(counts);
    }
    first = last;
  }
  return medians;
}

}  // namespace ctprof

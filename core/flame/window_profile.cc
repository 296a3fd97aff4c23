#include "core/flame/window_profile.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/compare/figures/long_waits.hpp"
#include "core/registry/identity.hpp"

namespace ctprof {
namespace {

constexpr std::array<std::pair<std::string_view, OwnersBy>, 5> kKeys{{
    {"pcomm", OwnersBy::Thread},
    {"comm", OwnersBy::ThreadName},
    {"pid", OwnersBy::Process},
    {"cgroup", OwnersBy::Cgroup},
    {"all", OwnersBy::All},
}};

constexpr std::string_view kWaitingStacks = "waiting-stacks";  // the role of a metric

using Columns = std::vector<const Column*>;

Columns columns_of_stacks(const Table& threads) {
  Columns columns;
  for (const Column& column : threads.columns)
    if (column.def().storage == Storage::Stacks) columns.push_back(&column);
  return columns;
}

Result<Columns> chosen(const Columns& all, std::span<const std::string> metrics) {
  if (all.empty()) return Error{"it has no call stacks: `ctprof record --recorders` takes them"};
  if (metrics.empty()) return all;
  Columns columns;
  for (const std::string& name : metrics) {
    const auto found = std::ranges::find(
        all, name, [](const Column* column) { return std::string_view(column->def().name); });
    if (found == all.end()) return Error{"it has no stacks called '" + name + "'"};
    columns.push_back(*found);
  }
  return columns;
}

// The shortest sampling period of `record --freq`: 4,000 samples a second.
constexpr std::uint64_t kShortestPeriodNs = 250'000;

// Finds "oncpu_samples" for "oncpu_stacks": the number of samples of each thread.
const Column* samples_beside(const Table& threads, std::string_view stacks) {
  constexpr std::string_view kStacks = "_stacks", kSamples = "_samples";
  if (!stacks.ends_with(kStacks)) return nullptr;
  stacks.remove_suffix(kStacks.size());
  return threads.find_u64(std::string(stacks).append(kSamples));
}

std::uint64_t sum_of(const Column& numbers) {
  std::uint64_t sum = 0;
  for (std::size_t row = 0; row < numbers.rows(); ++row)
    if (numbers.has_value(row) && __builtin_add_overflow(sum, numbers.u64()[row], &sum)) return 0;
  return sum;
}

// Returns the common divisor of all weights of the value, or, because a recorder may vary its
// period, the mean weight of its samples. Durations of events have neither.
std::uint64_t period_of(const StackProfile& profile, std::size_t value, const Table& threads) {
  std::uint64_t divisor = 0;
  double total = 0;
  for (const OwnedStacks& owned : profile.owners)
    for (const ctprof_stack& each : owned.weights[value]) {
      divisor = std::gcd(divisor, each.weight);
      total += static_cast<double>(each.weight);
    }
  if (divisor >= kShortestPeriodNs) return divisor;
  const Column* beside = samples_beside(threads, profile.values[value].name);
  const std::uint64_t samples = beside ? sum_of(*beside) : 0;
  return samples > 0 ? static_cast<std::uint64_t>(total / static_cast<double>(samples)) : 0;
}

ProfileSpan span_of(const Snapshot& window) {
  if (!window.window) return {};
  const Moment &opened = window.window->opened, &closed = window.meta.start;
  return {opened.wall_unix_ns, opened.boottime_ns,
          closed.boottime_ns - std::min(closed.boottime_ns, opened.boottime_ns)};
}

// Reads the names and numbers of threads from a window.
class Owners {
 public:
  Owners(const Snapshot& window, OwnersBy by) : texts_(&window.pools->texts), by_(by) {
    const Table& threads = window.threads();
    tgids_ = threads.find(kTgid), tids_ = threads.find(kTid);
    processes_ = threads.find(kPcomm), names_ = threads.find(kComm);
    cgroups_ = threads.find(kCgroup);
  }

  StackOwner of(std::size_t row) const {
    switch (by_) {
      case OwnersBy::Thread:
        return {text(processes_, row), text(names_, row), text(cgroups_, row), number(tgids_, row),
                number(tids_, row)};
      case OwnersBy::ThreadName: return {.thread = text(names_, row)};
      case OwnersBy::Process: {
        const std::uint64_t pid = number(tgids_, row);
        return {.process = text(processes_, row) + " " + std::to_string(pid), .pid = pid};
      }
      case OwnersBy::Cgroup: return {.cgroup = text(cgroups_, row)};
      case OwnersBy::All: return {.process = "all"};
    }
    return {};
  }

 private:
  std::string text(const Column* column, std::size_t row) const {
    return column && column->has_value(row) ? std::string((*texts_)[column->ids()[row]]) : "";
  }
  static std::uint64_t number(const Column* column, std::size_t row) {
    return column && column->has_value(row) ? column->u64()[row] : 0;
  }

  const TextPool* texts_;
  OwnersBy by_;
  const Column *tgids_, *tids_, *processes_, *names_, *cgroups_;
};

}  // namespace

Result<OwnersBy> owners_by(std::string_view key) {
  std::vector<std::string> keys;
  for (const auto& [known, by] : kKeys) {
    if (known == key) return by;
    keys.emplace_back(known);
  }
  return Error{"invalid --group-by '" + std::string(key) + "' for stacks (choose " + joined(keys) +
               ")"};
}

Result<StackProfile> window_profile(const Snapshot& window, std::span<const std::string> metrics,
                                    OwnersBy by, const WantedThreads& wanted) {
  const auto columns = chosen(columns_of_stacks(window.threads()), metrics);
  if (!columns) return columns.error();
  const StackPool& pool = window.pools->stacks;
  StackProfile profile{.table = &pool.table, .span = span_of(window)};
  const LongWaits long_waits(window);
  for (const Column* column : *columns)
    profile.values.push_back({column->def().name, column->def().unit,
                              column->def().role == kWaitingStacks, 0,
                              long_waits.least_ns(*column)});
  const Owners owners(window, by);
  for (std::size_t row = 0; row < window.threads().rows; ++row) {
    if (!wanted.empty() && !wanted[row]) continue;
    OwnedStacks owned;
    owned.waits_rarely = long_waits.waits_rarely(row);
    for (const Column* column : *columns)
      owned.weights.push_back(column->has_value(row) ? pool[column->ids()[row]]
                                                     : std::span<const ctprof_stack>());
    if (std::ranges::all_of(owned.weights, [](const auto& weights) { return weights.empty(); }))
      continue;
    owned.owner = owners.of(row);
    profile.owners.push_back(std::move(owned));
  }
  for (std::size_t value = 0; value < profile.values.size(); ++value)
    if (profile.values[value].unit == "ns" && !profile.values[value].waiting)
      profile.values[value].period_ns = period_of(profile, value, window.threads());
  return profile;
}

}  // namespace ctprof

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

constexpr std::array<std::pair<std::string_view, OwnerKey>, 5> kKeys{{
    {"pcomm", OwnerKey::Thread},
    {"comm", OwnerKey::ThreadName},
    {"pid", OwnerKey::Process},
    {"cgroup", OwnerKey::Cgroup},
    {"all", OwnerKey::All},
}};

constexpr std::string_view kWaitingStacks = "waiting-stacks";  // the role of a metric

using Columns = std::vector<const Column*>;

Columns find_stack_columns(const Table& threads) {
  Columns columns;
  for (const Column& column : threads.columns)
    if (column.def().storage == Storage::Stacks) columns.push_back(&column);
  return columns;
}

Result<Columns> select_columns(const Columns& all, std::span<const std::string> metrics) {
  if (all.empty())
    return Error{"it has no call stacks; record them with --recorders (`ctprof record --help`)"};
  if (metrics.empty()) return all;
  Columns columns;
  for (const std::string& name : metrics) {
    const auto found = std::ranges::find(
        all, name, [](const Column* column) { return std::string_view(column->def().name); });
    if (found == all.end()) return Error{"it has no call stacks of a metric '" + name + "'"};
    columns.push_back(*found);
  }
  return columns;
}

// The shortest sampling period of `record --freq`: 4,000 samples a second.
constexpr std::uint64_t kMinPeriodNs = 250'000;

// Finds "oncpu_samples" for "oncpu_stacks": the number of samples of each thread.
const Column* find_sample_counts(const Table& threads, std::string_view stacks) {
  constexpr std::string_view kStacks = "_stacks", kSamples = "_samples";
  if (!stacks.ends_with(kStacks)) return nullptr;
  stacks.remove_suffix(kStacks.size());
  return threads.find_u64(std::string(stacks).append(kSamples));
}

std::uint64_t sum_column(const Column& numbers) {
  std::uint64_t sum = 0;
  for (std::size_t row = 0; row < numbers.rows(); ++row)
    if (numbers.has_value(row) && __builtin_add_overflow(sum, numbers.u64()[row], &sum)) return 0;
  return sum;
}

// Returns the common divisor of all weights of the value, or, because a recorder may vary its
// period, the mean weight of its samples. Durations of events have neither.
std::uint64_t find_period(const StackProfile& profile, std::size_t value, const Table& threads) {
  std::uint64_t divisor = 0;
  double total = 0;
  for (const OwnedStacks& owned : profile.owners)
    for (const ctprof_stack& each : owned.weights[value]) {
      divisor = std::gcd(divisor, each.weight);
      total += static_cast<double>(each.weight);
    }
  if (divisor >= kMinPeriodNs) return divisor;
  const Column* sample_counts = find_sample_counts(threads, profile.values[value].name);
  const std::uint64_t samples = sample_counts ? sum_column(*sample_counts) : 0;
  return samples > 0 ? static_cast<std::uint64_t>(total / static_cast<double>(samples)) : 0;
}

ProfileSpan make_span(const Snapshot& window) {
  if (!window.window) return {};
  const Timestamp &opened = window.window->opened_at, &closed = window.meta.start;
  return {opened.wall_unix_ns, opened.boottime_ns,
          closed.boottime_ns - std::min(closed.boottime_ns, opened.boottime_ns)};
}

// Reads the names and numbers of threads from a window.
class OwnerReader {
 public:
  OwnerReader(const Snapshot& window, OwnerKey key) : texts_(&window.pools->texts), key_(key) {
    const Table& threads = window.threads();
    tgids_ = threads.find(kTgid), tids_ = threads.find(kTid);
    processes_ = threads.find(kPcomm), names_ = threads.find(kComm);
    cgroups_ = threads.find(kCgroup);
  }

  StackOwner read_owner(std::size_t row) const {
    switch (key_) {
      case OwnerKey::Thread:
        return {read_text(processes_, row), read_text(names_, row), read_text(cgroups_, row),
                read_number(tgids_, row), read_number(tids_, row)};
      case OwnerKey::ThreadName: return {.thread = read_text(names_, row)};
      case OwnerKey::Process: {
        const std::uint64_t pid = read_number(tgids_, row);
        return {.process = read_text(processes_, row) + " " + std::to_string(pid), .pid = pid};
      }
      case OwnerKey::Cgroup: return {.cgroup = read_text(cgroups_, row)};
      case OwnerKey::All: return {.process = "all"};
    }
    return {};
  }

 private:
  std::string read_text(const Column* column, std::size_t row) const {
    return column && column->has_value(row) ? std::string((*texts_)[column->ids()[row]]) : "";
  }
  static std::uint64_t read_number(const Column* column, std::size_t row) {
    return column && column->has_value(row) ? column->u64()[row] : 0;
  }

  const TextPool* texts_;
  OwnerKey key_;
  const Column *tgids_, *tids_, *processes_, *names_, *cgroups_;
};

}  // namespace

Result<OwnerKey> parse_owner_key(std::string_view key) {
  std::vector<std::string> keys;
  for (const auto& [known, owner_key] : kKeys) {
    if (known == key) return owner_key;
    keys.emplace_back(known);
  }
  return Error{"invalid --group-by '" + std::string(key) + "' for stacks (choose " +
               join_texts(keys) + ")"};
}

Result<StackProfile> make_window_profile(const Snapshot& window,
                                         std::span<const std::string> metrics, OwnerKey key,
                                         const SelectedThreads& selected) {
  CTPROF_TRY_VALUE(const auto columns,
                   select_columns(find_stack_columns(window.threads()), metrics));
  const StackPool& pool = window.pools->stacks;
  StackProfile profile{.table = &pool.table, .span = make_span(window)};
  const LongWaits long_waits(window);
  for (const Column* column : columns)
    profile.values.push_back({column->def().name, column->def().unit,
                              column->def().role == kWaitingStacks, 0,
                              long_waits.min_weight_ns(*column)});
  const OwnerReader owners(window, key);
  for (std::size_t row = 0; row < window.threads().rows; ++row) {
    if (!selected.empty() && !selected[row]) continue;
    OwnedStacks owned;
    owned.is_rarely_waiting = long_waits.has_few_waits(row);
    for (const Column* column : columns)
      owned.weights.push_back(column->has_value(row) ? pool[column->ids()[row]]
                                                     : std::span<const ctprof_stack>());
    if (std::ranges::all_of(owned.weights, [](const auto& weights) { return weights.empty(); }))
      continue;
    owned.owner = owners.read_owner(row);
    profile.owners.push_back(std::move(owned));
  }
  for (std::size_t value = 0; value < profile.values.size(); ++value)
    if (profile.values[value].unit == "ns" && !profile.values[value].is_waiting)
      profile.values[value].period_ns = find_period(profile, value, window.threads());
  return profile;
}

}  // namespace ctprof

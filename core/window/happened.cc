#include "core/window/happened.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/expression/expression.hpp"
#include "core/registry/derived_family.hpp"
#include "core/rules/maps.hpp"

namespace ctprof {
namespace {

// --- one column ---

void fail(Column& column, std::size_t row, Gap gap) {
  column.gaps()[row] = static_cast<ctprof_gap>(gap);
}

// `base`: null if no cell has a base.
template <class T>
void subtract_numbers(Column& column, std::span<T> now, const Column* then,
                      std::span<const T> earlier) {
  for (std::size_t row = 0; row < now.size(); ++row) {
    if (!column.has_value(row)) continue;
    if (!then || !then->has_value(row))
      fail(column, row, Gap::NoBase);
    else if (now[row] < earlier[row])
      fail(column, row, Gap::WentBackwards);
    else
      now[row] -= earlier[row];
  }
}

// The keys of a column's maps that are gauges. Texts of keys are pooled, so that equal keys have
// one address.
class Gauges {
 public:
  explicit Gauges(const MetricDef& def) : keys_(def.map_keys) {}

  bool contain(ctprof_text key) {
    if (key.size == 0) return is_gauge(key);
    const auto [known, is_new] = known_.try_emplace(key.data, false);
    if (is_new) known->second = is_gauge(key);
    return known->second;
  }

 private:
  bool is_gauge(ctprof_text key) const {
    return rules::kind_of_key(keys_, {key.data, key.size}).gauge;
  }

  std::string_view keys_;
  std::unordered_map<const char*, bool> known_;
};

std::uint64_t value_of(std::span<const ctprof_entry> entries, std::string_view key) {
  for (const ctprof_entry& entry : entries)
    if (std::string_view(entry.key.data, entry.key.size) == key) return entry.value;
  return 0;
}

// Subtracts the base from keys that count up, and omits keys that decreased. Gauges remain.
void subtract_map(Column& column, const Column& then, std::size_t row, Pools& pools,
                  Gauges& gauges) {
  const auto now = pools.maps[column.ids()[row]], earlier = pools.maps[then.ids()[row]];
  std::vector<ctprof_entry> left;
  for (const ctprof_entry& entry : now) {
    const std::string_view key(entry.key.data, entry.key.size);
    const std::uint64_t base = gauges.contain(entry.key) ? 0 : value_of(earlier, key);
    if (entry.value >= base) left.push_back({entry.key, entry.value - base});
  }
  column.ids()[row] = pools.maps.append_pooled(left);
}

void subtract_array(Column& column, const Column& then, std::size_t row, Pools& pools) {
  const auto now = pools.words[column.ids()[row]], earlier = pools.words[then.ids()[row]];
  std::vector<std::uint64_t> left(now.begin(), now.end());
  for (std::size_t at = 0; at < std::min(left.size(), earlier.size()); ++at) {
    if (left[at] < earlier[at]) return fail(column, row, Gap::WentBackwards);
    left[at] -= earlier[at];
  }
  column.ids()[row] = pools.words.intern(left);
}

// A map of only gauges remains even without a base, because none of its keys count up.
void subtract_maps(Column& column, const Column* then, Pools& pools) {
  Gauges gauges(column.def());
  const auto is_gauge = [&](const ctprof_entry& entry) { return gauges.contain(entry.key); };
  for (std::size_t row = 0; row < column.rows(); ++row) {
    if (!column.has_value(row)) continue;
    if (then && then->has_value(row))
      subtract_map(column, *then, row, pools, gauges);
    else if (!std::ranges::all_of(pools.maps[column.ids()[row]], is_gauge))
      fail(column, row, Gap::NoBase);
  }
}

void subtract_arrays(Column& column, const Column* then, Pools& pools) {
  for (std::size_t row = 0; row < column.rows(); ++row) {
    if (!column.has_value(row)) continue;
    if (then && then->has_value(row))
      subtract_array(column, *then, row, pools);
    else
      fail(column, row, Gap::NoBase);
  }
}

// Keeps cells of other storage types if they have a base.
void keep_with_base(Column& column, const Column* then) {
  for (std::size_t row = 0; row < column.rows(); ++row)
    if (column.has_value(row) && !(then && then->has_value(row))) fail(column, row, Gap::NoBase);
}

void subtract(Column& column, const Column* then, Pools& pools) {
  const auto numbers = [&](auto now, auto earlier_of) {
    subtract_numbers(column, now, then, then ? earlier_of(*then) : decltype(earlier_of(*then))());
  };
  switch (column.def().storage) {
    case Storage::U64: return numbers(column.u64(), [](const Column& of) { return of.u64(); });
    case Storage::I64: return numbers(column.i64(), [](const Column& of) { return of.i64(); });
    case Storage::F64: return numbers(column.f64(), [](const Column& of) { return of.f64(); });
    case Storage::Map: return subtract_maps(column, then, pools);
    case Storage::Array: return subtract_arrays(column, then, pools);
    default: return keep_with_base(column, then);
  }
}

// --- metrics with a role ---

Column* with_role(std::deque<Column>& columns, std::string_view role,
                  Storage storage = Storage::U64) {
  return const_cast<Column*>(find_role(columns, role, storage));
}

// Both readings of a metric of threads; null if a reading is missing.
struct Ends {
  Ends(Snapshot& snapshot, std::string_view role, Storage storage = Storage::U64)
      : now(with_role(snapshot.threads().columns, role, storage)),
        then(with_role(snapshot.window->openings[0].columns, role, storage)) {}
  bool has_both(std::size_t row) const {
    return now && then && now->has_value(row) && then->has_value(row);
  }
  bool are_known() const { return now && then; }

  Column* now;
  Column* then;
};

bool is_runnable(const Column* state, std::size_t row, const Pools& pools) {
  return state && state->has_value(row) && pools.texts[state->ids()[row]] == "R";
}

// Adds the time in progress to one reading of a time. If it is unknown for a runnable thread, the
// reading becomes NoBase.
void complete(Column& time, const Column* in_progress, const Column* state, std::size_t row,
              const Pools& pools) {
  if (!time.has_value(row)) return;
  if (in_progress && in_progress->has_value(row))
    time.u64()[row] += in_progress->u64()[row];
  else if (is_runnable(state, row, pools))
    fail(time, row, Gap::NoBase);
}

void complete(Snapshot& snapshot, std::string_view role, std::string_view role_in_progress) {
  const Ends time(snapshot, role), in_progress(snapshot, role_in_progress),
      state(snapshot, "state", Storage::String);
  if (!time.are_known()) return;
  for (std::size_t row = 0; row < time.now->rows(); ++row) {
    // An exited thread has no time in progress.
    if (row < snapshot.window->living)
      complete(*time.now, in_progress.now, state.now, row, *snapshot.pools);
    if (!snapshot.window->openings[0].born[row])
      complete(*time.then, in_progress.then, state.then, row, *snapshot.pools);
  }
}

// If user or system time decreased, moves the difference from the other one, so that neither
// decreases and their sum remains. The kernel divides the CPU time of a thread anew at each
// reading.
void settle_modes(Snapshot& snapshot) {
  const Ends user(snapshot, "user-time"), system(snapshot, "system-time");
  if (!user.are_known() || !system.are_known()) return;
  for (std::size_t row = 0; row < user.now->rows(); ++row) {
    if (!user.has_both(row) || !system.has_both(row)) continue;
    std::uint64_t &user_now = user.now->u64()[row], &system_now = system.now->u64()[row];
    const std::uint64_t user_then = user.then->u64()[row], system_then = system.then->u64()[row];
    if (user_now + system_now < user_then + system_then) continue;
    if (user_now < user_then) {
      system_now -= user_then - user_now;
      user_now = user_then;
    } else if (system_now < system_then) {
      user_now -= system_then - system_now;
      system_now = system_then;
    }
  }
}

// --- blocked time ---

}  // namespace

MetricDef blocked_time() {
  MetricDef def;
  def.name = "blocked_time_ns";
  def.newtype = "MonotonicNs";
  def.rule = "SumNs";
  def.reduction = "sum";
  def.unit = "ns";
  def.family = "cumulative";
  def.section = "primary";
  def.applies_to = "all";
  def.source = "computed for each thread of a window";
  def.file_path = "none";
  def.file_absent = "omit";
  def.description =
      "Time in which the thread neither ran nor waited for a CPU: it slept, or waited for a lock, "
      "a disk, a message.";
  def.caveat =
      "Wall time between the two readings of the thread, less the time that it ran and waited. For "
      "a thread that started in the window it can be off by a clock tick, unless a BPF program "
      "reports its start.";
  def.plugin = "core";
  def.headline = Headline{.label = "%blocked",
                          .order = 30,
                          .shown = CTPROF_SHOWN_PERCENT,
                          .by_change = true,
                          .floor = 1e7};
  def.role = "blocked-time";
  return def;
}

namespace {

DerivedDef blocked_share(const std::string& run, const std::string& wait,
                         const std::string& blocked) {
  DerivedDef def;
  def.name = "blocked_share";
  def.expression = blocked + " / (" + run + " + " + wait + " + " + blocked + ")";
  def.unit = "ratio";
  def.family = "gauge";
  def.section = "derived";
  def.applies_to = "all";
  def.description =
      "Share of the time of the threads in the window during which they were blocked.";
  def.plugin = "core";
  return def;
}

// Returns the wall time of threads less run and wait time. REQUIRES: the columns are differences.
Column blocked_times(const Column& run, const Column& wait, std::span<const Seen> seen) {
  Column blocked(blocked_time(), run.rows(), Gap::NoBase);
  blocked.provenance = wait.provenance;
  for (std::size_t row = 0; row < run.rows(); ++row) {
    if (!run.has_value(row) || !wait.has_value(row)) {
      fail(blocked, row, run.has_value(row) ? wait.gap(row) : run.gap(row));
      continue;
    }
    std::uint64_t left = seen[row].last - seen[row].first;
    left -= std::min(left, run.u64()[row]);
    left -= std::min(left, wait.u64()[row]);
    blocked.u64()[row] = left;
    blocked.gaps()[row] = CTPROF_VALUE;
  }
  return blocked;
}

// Adds the blocked times after the wait times, unless the file already has such a column or lacks
// the read times of threads.
void add_blocked(Snapshot& snapshot) {
  std::deque<Column>& columns = snapshot.threads().columns;
  const Column *run = with_role(columns, "run-time"), *wait = with_role(columns, "wait-time");
  const auto is_time = [](const Column* column) {
    return column && column->def().storage == Storage::U64;
  };
  const MetricDef def = blocked_time();
  if (!is_time(run) || !is_time(wait) || snapshot.window->seen.empty() ||
      with_role(columns, def.role) || snapshot.threads().find(def.name))
    return;
  snapshot.derived.push_back(blocked_share(run->def().name, wait->def().name, def.name));
  const auto behind = std::ranges::find(columns, wait->def().name,
                                        [](const Column& column) { return column.def().name; });
  columns.insert(behind + 1, blocked_times(*run, *wait, snapshot.window->seen));
}

// --- totals that derived metrics need ---

const Column* find_counter(const Snapshot& snapshot, std::string_view name) {
  for (const Table& table : snapshot.tables)
    if (const Column* column = table.find(name); column && counts_up(column->def())) return column;
  return nullptr;
}

// Returns the counters whose totals the metric's formula needs.
std::vector<std::string> totals_of(const Snapshot& snapshot, const DerivedDef& derived) {
  std::vector<std::string> names;
  if (derived.family == "cumulative" || derived.expression.find('-') == std::string::npos)
    return {};
  const auto expression = Expression::parse(derived.expression);
  if (!expression) return {};
  std::vector<FigureKind> kinds;
  for (const Expression::Input& input : expression->inputs()) {
    const bool is_counter = find_counter(snapshot, input.name) != nullptr;
    kinds.push_back(is_counter ? FigureKind::Counter : FigureKind::Level);
    if (is_counter) names.push_back(input.name);
  }
  const auto family = derived_family(*expression, kinds, derived.family);
  if (!family || *family != DerivedFamily::LevelOfTotals) names.clear();
  return names;
}

std::set<std::string, std::less<>> needed_totals(const Snapshot& snapshot) {
  std::set<std::string, std::less<>> names;
  for (const DerivedDef& derived : snapshot.derived)
    for (std::string& name : totals_of(snapshot, derived)) names.insert(std::move(name));
  return names;
}

Column copy_of(const Column& column) {
  Column copy(column.shared_def(), column.rows(), Gap::None);
  for (std::size_t row = 0; row < column.rows(); ++row) copy.take(row, column, row);
  copy.provenance = column.provenance;
  return copy;
}

}  // namespace

const Column* find_role(const std::deque<Column>& columns, std::string_view role, Storage storage) {
  const auto it = std::ranges::find_if(columns, [&](const Column& column) {
    return column.def().role == role && column.def().storage == storage;
  });
  return it == columns.end() ? nullptr : &*it;
}

bool has_gauges(const MetricDef& def) {
  return def.family == "gauge" || def.map_keys.find("gauge") != std::string::npos;
}

bool counts_up(const MetricDef& def) {
  if (def.storage == Storage::Stacks) return false;
  return def.family == "cumulative" || (def.storage == Storage::Map && !def.map_keys.empty());
}

bool is_recorded(const MetricDef& def) {
  return def.storage == Storage::Stacks || (def.of_window && def.storage == Storage::U64);
}

void begin_at_zero(Snapshot& snapshot, const Column& column) {
  Opening& opening = snapshot.window->openings[static_cast<std::size_t>(Entity::Thread)];
  Column& base = opening.columns.emplace_back(column.def(), column.rows(), Gap::None);
  std::ranges::fill(base.gaps(), ctprof_gap{CTPROF_VALUE});
  base.provenance = column.provenance;
}

void add_number(Column& column, std::uint32_t row, std::uint64_t number) {
  std::uint64_t& known = column.u64()[row];
  if (!column.has_value(row))
    known = number;
  else if (counts_up(column.def()))
    known += number;
  else
    known = column.def().reduction == "min" ? std::min(known, number) : std::max(known, number);
  column.gaps()[row] = CTPROF_VALUE;
}

void to_differences(Snapshot& snapshot) {
  complete(snapshot, "run-time", "run-time-in-progress");
  complete(snapshot, "wait-time", "wait-time-in-progress");
  settle_modes(snapshot);
  const auto totals = needed_totals(snapshot);
  for (std::size_t entity = 0; entity < kEntities; ++entity) {
    Opening& opening = snapshot.window->openings[entity];
    for (Column& column : snapshot.tables[entity].columns) {
      if (!counts_up(column.def())) continue;
      if (totals.contains(column.def().name))
        snapshot.window->totals[entity].push_back(copy_of(column));
      subtract(column, opening.find(column.def().name), *snapshot.pools);
    }
    std::erase_if(opening.columns, [&](const Column& column) {
      return counts_up(column.def()) && !has_gauges(column.def()) &&
             !totals.contains(column.def().name);
    });
  }
  add_blocked(snapshot);
  // The times in progress are now included.
  std::erase_if(snapshot.threads().columns,
                [](const Column& column) { return column.def().role.ends_with("-in-progress"); });
}

}  // namespace ctprof

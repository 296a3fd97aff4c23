#include "core/window/differences.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
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
#include "core/window/blocked_time.hpp"

namespace ctprof {
namespace {

// --- one column ---

void set_gap(Column& column, std::size_t row, Gap gap) {
  column.gaps()[row] = static_cast<ctprof_gap>(gap);
}

// `base`: null if no cell has a base.
template <class T>
void subtract_numbers(Column& column, std::span<T> current, const Column* base,
                      std::span<const T> base_values) {
  for (std::size_t row = 0; row < current.size(); ++row) {
    if (!column.has_value(row)) continue;
    if (!base || !base->has_value(row))
      set_gap(column, row, Gap::NoBase);
    else if (current[row] < base_values[row])
      set_gap(column, row, Gap::WentBackwards);
    else
      current[row] -= base_values[row];
  }
}

// The keys of a column's maps that are gauges. Texts of keys are pooled, so that equal keys have
// the same address.
class GaugeKeys {
 public:
  explicit GaugeKeys(const MetricDef& def) : keys_(def.map_keys) {}

  bool contains(ctprof_text key) {
    if (key.size == 0) return is_gauge(key);
    const auto [entry, is_new] = is_gauge_by_key_.try_emplace(key.data, false);
    if (is_new) entry->second = is_gauge(key);
    return entry->second;
  }

 private:
  bool is_gauge(ctprof_text key) const {
    return rules::find_key_kind(keys_, {key.data, key.size}).is_gauge;
  }

  std::string_view keys_;
  std::unordered_map<const char*, bool> is_gauge_by_key_;
};

std::string_view map_key_of(const ctprof_entry& entry) { return {entry.key.data, entry.key.size}; }

// Returns the value of a key; nothing if the map lacks it. REQUIRES: entries are sorted by key.
std::optional<std::uint64_t> find_value(std::span<const ctprof_entry> entries,
                                        std::string_view key) {
  const auto found = std::ranges::lower_bound(entries, key, {}, map_key_of);
  if (found == entries.end() || map_key_of(*found) != key) return std::nullopt;
  return found->value;
}

// Returns whether the capture may have dropped keys of the map.
bool may_lack_keys(std::span<const ctprof_entry> entries) {
  return entries.size() >= CTPROF_MAX_MAP_KEYS;
}

// Subtracts the base from keys that count up, and omits keys that decreased, and keys whose base
// may have been dropped. Gauges remain.
void subtract_map(Column& column, const Column& base, std::size_t row, Pools& pools,
                  GaugeKeys& gauges) {
  const auto current = pools.maps[column.ids()[row]], base_values = pools.maps[base.ids()[row]];
  std::vector<ctprof_entry> difference;
  for (const ctprof_entry& entry : current) {
    if (gauges.contains(entry.key)) {
      difference.push_back(entry);
      continue;
    }
    const auto base_value = find_value(base_values, map_key_of(entry));
    if (!base_value && may_lack_keys(base_values)) continue;
    if (entry.value >= base_value.value_or(0))
      difference.push_back({entry.key, entry.value - base_value.value_or(0)});
  }
  column.ids()[row] = pools.maps.append_pooled(difference);
}

void subtract_array(Column& column, const Column& base, std::size_t row, Pools& pools) {
  const auto current = pools.words[column.ids()[row]], base_values = pools.words[base.ids()[row]];
  std::vector<std::uint64_t> difference(current.begin(), current.end());
  difference.resize(std::max(current.size(), base_values.size()));  // left-out elements are zero
  for (std::size_t i = 0; i < base_values.size(); ++i) {
    if (difference[i] < base_values[i]) return set_gap(column, row, Gap::WentBackwards);
    difference[i] -= base_values[i];
  }
  column.ids()[row] = pools.words.intern(difference);
}

// A map of only gauges remains even without a base, because none of its keys count up.
void subtract_maps(Column& column, const Column* base, Pools& pools) {
  GaugeKeys gauges(column.def());
  const auto is_gauge = [&](const ctprof_entry& entry) { return gauges.contains(entry.key); };
  for (std::size_t row = 0; row < column.rows(); ++row) {
    if (!column.has_value(row)) continue;
    if (base && base->has_value(row))
      subtract_map(column, *base, row, pools, gauges);
    else if (!std::ranges::all_of(pools.maps[column.ids()[row]], is_gauge))
      set_gap(column, row, Gap::NoBase);
  }
}

void subtract_arrays(Column& column, const Column* base, Pools& pools) {
  for (std::size_t row = 0; row < column.rows(); ++row) {
    if (!column.has_value(row)) continue;
    if (base && base->has_value(row))
      subtract_array(column, *base, row, pools);
    else
      set_gap(column, row, Gap::NoBase);
  }
}

// Keeps cells of other storage types if they have a base.
void require_base(Column& column, const Column* base) {
  for (std::size_t row = 0; row < column.rows(); ++row)
    if (column.has_value(row) && !(base && base->has_value(row))) set_gap(column, row, Gap::NoBase);
}

void subtract(Column& column, const Column* base, Pools& pools) {
  const auto numbers = [&](auto current, auto values_of) {
    subtract_numbers(column, current, base, base ? values_of(*base) : decltype(values_of(*base))());
  };
  switch (column.def().storage) {
    case Storage::U64:
      return numbers(column.u64(),
                     [](const Column& column_of_type) { return column_of_type.u64(); });
    case Storage::I64:
      return numbers(column.i64(),
                     [](const Column& column_of_type) { return column_of_type.i64(); });
    case Storage::F64:
      return numbers(column.f64(),
                     [](const Column& column_of_type) { return column_of_type.f64(); });
    case Storage::Map: return subtract_maps(column, base, pools);
    case Storage::Array: return subtract_arrays(column, base, pools);
    default: return require_base(column, base);
  }
}

// --- metrics with a role ---

Column* find_mutable_role(std::deque<Column>& columns, std::string_view role,
                          Storage storage = Storage::U64) {
  return const_cast<Column*>(find_role(columns, role, storage));
}

// Both readings of a metric of threads; null if a reading is missing.
struct ReadingPair {
  ReadingPair(Snapshot& snapshot, std::string_view role, Storage storage = Storage::U64)
      : current(find_mutable_role(snapshot.threads().columns, role, storage)),
        base(find_mutable_role(snapshot.window->openings[0].columns, role, storage)) {}
  bool has_both_values(std::size_t row) const {
    return current && base && current->has_value(row) && base->has_value(row);
  }
  bool has_both_columns() const { return current && base; }

  Column* current;
  Column* base;
};

bool is_runnable(const Column* state, std::size_t row, const Pools& pools) {
  return state && state->has_value(row) && pools.texts[state->ids()[row]] == "R";
}

// Adds the time in progress to one reading of a time. If it is unknown for a runnable thread, the
// reading becomes NoBase.
void add_time_in_progress(Column& time, const Column* in_progress, const Column* state,
                          std::size_t row, const Pools& pools) {
  if (!time.has_value(row)) return;
  if (in_progress && in_progress->has_value(row))
    time.u64()[row] += in_progress->u64()[row];
  else if (is_runnable(state, row, pools))
    set_gap(time, row, Gap::NoBase);
}

void add_time_in_progress(Snapshot& snapshot, std::string_view role,
                          std::string_view role_in_progress) {
  const ReadingPair time(snapshot, role), in_progress(snapshot, role_in_progress),
      state(snapshot, "state", Storage::String);
  if (!time.has_both_columns()) return;
  for (std::size_t row = 0; row < time.current->rows(); ++row) {
    // An exited thread has no time in progress.
    if (row < snapshot.window->living_threads)
      add_time_in_progress(*time.current, in_progress.current, state.current, row, *snapshot.pools);
    if (!snapshot.window->openings[0].started[row])
      add_time_in_progress(*time.base, in_progress.base, state.base, row, *snapshot.pools);
  }
}

// If user or system time decreased, moves the difference from the other one, so that neither
// decreases and their sum remains. At each reading, the kernel divides the CPU time of a thread
// again.
void balance_cpu_modes(Snapshot& snapshot) {
  const ReadingPair user(snapshot, "user-time"), system(snapshot, "system-time");
  if (!user.has_both_columns() || !system.has_both_columns()) return;
  for (std::size_t row = 0; row < user.current->rows(); ++row) {
    if (!user.has_both_values(row) || !system.has_both_values(row)) continue;
    std::uint64_t &user_now = user.current->u64()[row], &system_now = system.current->u64()[row];
    const std::uint64_t user_base = user.base->u64()[row], system_base = system.base->u64()[row];
    if (user_now + system_now < user_base + system_base) continue;
    if (user_now < user_base) {
      system_now -= user_base - user_now;
      user_now = user_base;
    } else if (system_now < system_base) {
      user_now -= system_base - system_now;
      system_now = system_base;
    }
  }
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
  if (!family || *family != DerivedFamily::LevelFromTotals) names.clear();
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
  for (std::size_t row = 0; row < column.rows(); ++row) copy.copy_from(row, column, row);
  copy.provenance = column.provenance;
  return copy;
}

}  // namespace

bool has_gauges(const MetricDef& def) {
  return def.family == "gauge" || def.map_keys.find("gauge") != std::string::npos;
}

bool counts_up(const MetricDef& def) {
  const bool is_recorded_array = def.covers_window && def.storage == Storage::Array;
  if (def.storage == Storage::Stacks || is_recorded_array) return false;
  return def.family == "cumulative" || (def.storage == Storage::Map && !def.map_keys.empty());
}

bool is_recorded(const MetricDef& def) {
  return def.storage == Storage::Stacks ||
         (def.covers_window && (def.storage == Storage::U64 || def.storage == Storage::Array));
}

void add_zero_base(Snapshot& snapshot, const Column& column) {
  Opening& opening = snapshot.window->openings[static_cast<std::size_t>(Entity::Thread)];
  Column& base = opening.columns.emplace_back(column.def(), column.rows(), Gap::None);
  std::ranges::fill(base.gaps(), ctprof_gap{CTPROF_VALUE});
  base.provenance = column.provenance;
}

void combine_number(Column& column, std::uint32_t row, std::uint64_t number) {
  std::uint64_t& value = column.u64()[row];
  if (!column.has_value(row))
    value = number;
  else if (counts_up(column.def()))
    value += number;
  else
    value = column.def().reduction == "min" ? std::min(value, number) : std::max(value, number);
  column.gaps()[row] = CTPROF_VALUE;
}

void add_array(Column& column, std::uint32_t row, std::span<const std::uint64_t> more,
               WordsPool& pool) {
  std::vector<std::uint64_t> sum(more.begin(), more.end());
  if (column.has_value(row)) {
    const auto elements = pool[column.ids()[row]];
    sum.resize(std::max(sum.size(), elements.size()));
    for (std::size_t i = 0; i < elements.size(); ++i)
      if (__builtin_add_overflow(sum[i], elements[i], &sum[i])) sum[i] = UINT64_MAX;
  }
  column.ids()[row] = pool.intern(sum);
  column.gaps()[row] = CTPROF_VALUE;
}

void convert_to_differences(Snapshot& snapshot) {
  add_time_in_progress(snapshot, "run-time", "run-time-in-progress");
  add_time_in_progress(snapshot, "wait-time", "wait-time-in-progress");
  balance_cpu_modes(snapshot);
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
  add_blocked_time(snapshot);
  // The times in progress are now included.
  std::erase_if(snapshot.threads().columns,
                [](const Column& column) { return column.def().role.ends_with("-in-progress"); });
}

}  // namespace ctprof

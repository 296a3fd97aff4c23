#include "core/compare/figures/rollup.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/number.hpp"
#include "core/compare/figures/rule_states.hpp"
#include "core/rules/stacks.hpp"

namespace ctprof {
namespace {

void pass_entry(void* visit, ctprof_text key, ctprof_number number, ctprof_text unit) {
  (*static_cast<const std::function<void(const MapEntry&)>*>(visit))(
      {{key.data, key.size}, number, {unit.data, unit.size}});
}

// Visits the keys of a map, ordered by their bytes; none if nothing was read.
void visit_map_entries(const PlannedMetric& map, const void* state,
                       const std::function<void(const MapEntry&)>& visit) {
  if (!state) return;
  const ctprof_parts out{sizeof(ctprof_parts), 0,
                         const_cast<std::function<void(const MapEntry&)>*>(&visit), pass_entry};
  call_rule(map.rule_owner, "parts", [&] { map.rule->parts(state, &out); });
}

}  // namespace

ctprof_number median(std::vector<ctprof_number> numbers) {
  std::erase_if(numbers, [](const ctprof_number& number) {
    return !has_value(number) || !std::isfinite(as_double(number));
  });
  if (numbers.empty()) return no_number();
  std::ranges::sort(numbers, {}, as_double);
  const std::size_t middle = numbers.size() / 2;
  if (numbers.size() % 2 == 1) return numbers[middle];
  return make_number((as_double(numbers[middle - 1]) + as_double(numbers[middle])) / 2);
}

Rollup::Rollup(std::vector<RunFigures> runs, std::vector<SideRuns> sides,
               std::vector<double> seconds, const Grouping& grouping, const MetricPlan& plan)
    : grouping_(&grouping),
      plan_(&plan),
      runs_(std::move(runs)),
      sides_(std::move(sides)),
      seconds_(std::move(seconds)) {
  for (std::size_t run = 0; run < runs_.size(); ++run) merge_groups(run);
  for (const SideRuns& side : sides_)
    merged_states_.push_back(side.count > 1 ? merge_states_of_runs(side)
                                            : std::vector<RuleStates>{});
  for (RunFigures& run : runs_) run.finish();
}

// Merges the run's own groups that form one joined group.
void Rollup::merge_groups(std::size_t run) {
  const RunGroupMap& places = grouping_->runs[run];
  for (std::uint32_t own_group = 0; own_group < places.group_of.size(); ++own_group)
    if (const std::uint32_t first = places.first_own_group[places.group_of[own_group]];
        first != own_group)
      runs_[run].merge_groups(first, own_group);
}

// Returns whether the median over several runs exists: the value of a run is a number, and the rule
// has no JSON form of its own.
bool Rollup::has_median(std::size_t metric) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  return !planned.rule || (planned.rule->number && !planned.rule->json);
}

// Merges the states of all runs of the side, for metrics without a median.
std::vector<RuleStates> Rollup::merge_states_of_runs(const SideRuns& side) const {
  std::vector<RuleStates> merged_states(plan_->metrics.size());
  for (std::size_t metric = 0; metric < merged_states.size(); ++metric) {
    const PlannedMetric& planned = plan_->metrics[metric];
    if (has_median(metric) || planned.is_omitted) continue;
    const std::size_t groups = grouping_->count(planned.entity);
    merged_states[metric] = RuleStates(*planned.rule, groups, planned.rule_owner);
    for (std::size_t run = side.first; run < side.first + side.count; ++run)
      for (std::uint32_t group = 0; group < groups; ++group) {
        const std::uint32_t group_in_run = own_group(run, {0, group, metric});
        const RuleStates& states = runs_[run].states(metric);
        if (group_in_run != kNoGroup && !states.empty())
          merged_states[metric].merge(group, states, group_in_run);
      }
    merged_states[metric].finish();
  }
  return merged_states;
}

std::uint32_t Rollup::own_group(std::size_t run, CellPosition at) const {
  const bool is_host_metric = plan_->metrics[at.metric].entity == Entity::Host;
  return is_host_metric ? at.group : grouping_->runs[run].first_own_group[at.group];
}

bool Rollup::is_per_second(std::size_t metric) const {
  return !seconds_.empty() && plan_->metrics[metric].is_cumulative;
}

bool Rollup::is_key_per_second(std::size_t metric, std::string_view key) const {
  return !seconds_.empty() && plan_->metrics[metric].key_is_cumulative(key);
}

// Returns no number for a window of length zero.
ctprof_number Rollup::to_rate(const ctprof_number& number, std::size_t run,
                              std::size_t metric) const {
  const double covered = runs_[run].covered_ns(metric) / kNsPerSecond;
  const double seconds = covered > 0 ? covered : seconds_[run];
  return has_value(number) && seconds > 0 ? make_number(as_double(number) / seconds) : no_number();
}

// Returns whether the side has a single run whose value is used unchanged.
bool Rollup::needs_no_reduction(CellPosition at) const {
  const bool is_scaled = !seconds_.empty() && (plan_->metrics[at.metric].is_map() ||
                                               plan_->metrics[at.metric].is_cumulative);
  return runs(at.side) == 1 && !is_scaled;
}

std::size_t Rollup::runs_with(CellPosition at) const {
  std::size_t count = 0;
  for_each_run(at, [&](std::size_t run, std::uint32_t group) {
    count += runs_[run].read(group, at.metric).has_value();
  });
  return count;
}

CellValue Rollup::read(CellPosition at) const {
  if (!needs_no_reduction(at)) return read_over_runs(at);
  const std::size_t only_run = sides_[at.side].first;
  const std::uint32_t group = own_group(only_run, at);
  return group == kNoGroup ? CellValue{} : runs_[only_run].read(group, at.metric);
}

bool Rollup::lacks_rows(std::size_t run, CellPosition at) const {
  const std::uint32_t group_in_run = own_group(run, at);
  return group_in_run == kNoGroup || runs_[run].coverage(group_in_run, at.metric).rows == 0;
}

// Returns whether the run counts as zero in a sum, because it has no rows of the group.
bool Rollup::counts_as_zero(std::size_t run, CellPosition at) const {
  return lacks_rows(run, at) && runs_[run].counts_absence_as_zero(at.metric);
}

// Returns the numbers of which the median is computed: number(run, own group) for runs with rows of
// the group, and zeros for runs that count as zero. Empty if no run has rows.
template <class Number>
std::vector<ctprof_number> Rollup::collect_run_numbers(CellPosition at, Number number) const {
  const SideRuns& side = sides_[at.side];
  std::vector<ctprof_number> numbers;
  std::size_t absent_runs = 0;
  for (std::size_t run = side.first; run < side.first + side.count; ++run) {
    if (counts_as_zero(run, at))
      ++absent_runs;
    else if (const std::uint32_t group_in_run = own_group(run, at); group_in_run != kNoGroup)
      numbers.push_back(number(run, group_in_run));
  }
  if (!numbers.empty()) numbers.resize(numbers.size() + absent_runs, make_number(std::uint64_t{0}));
  return numbers;
}

// The precision of clocks and schedulers, and the page size in which memory is counted.
constexpr double kClockNs = 1000, kPageBytes = 4096;

double Rollup::resolution(std::size_t metric, std::span<const std::size_t> runs) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  if (planned.expression) return 0;
  const double unit = planned.unit == "ns"                                   ? kClockNs
                      : planned.unit == "bytes" && planned.family == "gauge" ? kPageBytes
                                                                             : 1;
  double largest = is_per_second(metric) ? 0 : unit;
  for (const std::size_t run : runs)
    if (is_per_second(metric))
      largest = std::max(largest, as_double(to_rate(make_number(unit), run, metric)));
  return largest;
}

double Rollup::number_of_run(std::size_t run, std::uint32_t group, std::size_t metric) const {
  const CellPosition at{0, group, metric};
  if (counts_as_zero(run, at)) return 0;
  const std::uint32_t group_in_run = own_group(run, at);
  if (group_in_run == kNoGroup) return std::nan("");
  const CellValue value = runs_[run].read(group_in_run, metric);
  return as_double(is_per_second(metric) ? to_rate(value.number, run, metric) : value.number);
}

std::vector<double> Rollup::run_numbers(CellPosition at) const {
  const SideRuns& side = sides_[at.side];
  std::vector<double> numbers;
  for (std::size_t run = side.first; run < side.first + side.count; ++run)
    numbers.push_back(number_of_run(run, at.group, at.metric));
  return numbers;
}

CellValue Rollup::read_over_runs(CellPosition at) const {
  const PlannedMetric& planned = plan_->metrics[at.metric];
  CellValue combined;
  combined.coverage = coverage(at);
  combined.derived_parts = derived_parts(at);
  auto numbers = collect_run_numbers(at, [&](std::size_t run, std::uint32_t group) {
    const CellValue value = runs_[run].read(group, at.metric);
    if (!combined.state) combined.state = value.state;
    return is_per_second(at.metric) ? to_rate(value.number, run, at.metric) : value.number;
  });
  if (has_median(at.metric)) {
    combined.state = nullptr;
    combined.number = median(std::move(numbers));
  } else if (combined.state && runs(at.side) > 1) {
    combined.state = merged_states_[at.side][at.metric][at.group];
    if (planned.rule->number)
      combined.number = call_rule(planned.rule_owner, "number",
                                  [&] { return planned.rule->number(combined.state); });
  }
  return combined;
}

// Returns as many entries as collect_run_numbers() does.
std::vector<RunStacks> Rollup::stacks(CellPosition at) const {
  const SideRuns& side = sides_[at.side];
  std::vector<RunStacks> found;
  std::size_t absent_runs = 0;
  for (std::size_t run = side.first; run < side.first + side.count; ++run) {
    if (counts_as_zero(run, at))
      ++absent_runs;
    else if (const auto stacks = stacks_of_run(run, at.group, at.metric))
      found.push_back(*stacks);
  }
  if (!found.empty()) found.resize(found.size() + absent_runs);
  return found;
}

std::optional<RunStacks> Rollup::stacks_of_run(std::size_t run, std::uint32_t group,
                                               std::size_t metric) const {
  const CellPosition at{0, group, metric};
  if (counts_as_zero(run, at)) return RunStacks{};
  const std::uint32_t group_in_run = own_group(run, at);
  const void* state =
      group_in_run == kNoGroup ? nullptr : runs_[run].read(group_in_run, metric).state;
  const ctprof_number one = make_number(std::uint64_t{1});
  const double scale = as_double(is_per_second(metric) ? to_rate(one, run, metric) : one);
  if (!state || std::isnan(scale)) return std::nullopt;
  return RunStacks{rules::stacks_in(state), scale};
}

Coverage Rollup::coverage(CellPosition at) const {
  Coverage all;
  for_each_run(at, [&](std::size_t run, std::uint32_t group) {
    const Coverage run_coverage = runs_[run].coverage(group, at.metric);
    all.values += run_coverage.values;
    all.rows += run_coverage.rows;
  });
  return all;
}

DerivedParts Rollup::derived_parts(CellPosition at) const {
  DerivedParts first;
  for_each_run(at, [&](std::size_t run, std::uint32_t group) {
    if (!first.has_parts()) first = runs_[run].derived_parts(group, at.metric);
  });
  return first;
}

const BusiestThread* Rollup::get_busiest_thread(CellPosition at) const {
  const BusiestThread* busiest_thread = nullptr;
  for_each_run(at, [&](std::size_t run, std::uint32_t group) {
    const BusiestThread* busiest_of_run = runs_[run].get_busiest_thread(group, at.metric);
    if (busiest_of_run && (!busiest_thread || busiest_of_run->reading > busiest_thread->reading))
      busiest_thread = busiest_of_run;
  });
  return busiest_thread;
}

Difference Rollup::change(CellPosition at) const {
  if (runs(at.side) == 1) {
    const std::size_t only_run = sides_[at.side].first;
    const std::uint32_t group = own_group(only_run, at);
    return group == kNoGroup ? Difference{} : runs_[only_run].change(group, at.metric);
  }
  return change_over_runs(at);
}

// A run without rows of the group still has a change if all processes of the group exited in the
// window.
Difference Rollup::change_over_runs(CellPosition at) const {
  const SideRuns& side = sides_[at.side];
  std::vector<ctprof_number> changes;
  bool has_any_change = false;
  for (std::size_t run = side.first; run < side.first + side.count; ++run) {
    const std::uint32_t group = own_group(run, at);
    const Difference change =
        group == kNoGroup ? Difference{} : runs_[run].change(group, at.metric);
    const bool is_absent = !change.is_known() && counts_as_zero(run, at);
    if (group == kNoGroup && !is_absent) continue;
    has_any_change = has_any_change || !is_absent;
    changes.push_back(is_absent ? make_number(std::uint64_t{0}) : as_number(change));
  }
  return has_any_change ? as_difference(median(std::move(changes))) : Difference{};
}

Difference Rollup::change(CellPosition at, std::string_view key,
                          const ctprof_number& end_value) const {
  if (runs(at.side) != 1) return {};
  const std::size_t only_run = sides_[at.side].first;
  const std::uint32_t group = own_group(only_run, at);
  return group == kNoGroup ? Difference{}
                           : runs_[only_run].change(group, at.metric, key, end_value);
}

OpeningState Rollup::opening_state(CellPosition at) const {
  OpeningState combined_state = OpeningState::None;
  for_each_run(at, [&](std::size_t run, std::uint32_t group) {
    combined_state = std::max(combined_state, runs_[run].opening_state(group, at.metric));
  });
  return combined_state;
}

const GroupTimes* Rollup::times(std::size_t side, std::uint32_t group) const {
  const std::uint32_t own_group = grouping_->runs[sides_[side].first].first_own_group[group];
  return own_group == kNoGroup ? nullptr : &run(side).times(own_group);
}

void Rollup::visit_map(CellPosition at, const std::function<void(const MapEntry&)>& visit) const {
  const PlannedMetric& metric = plan_->metrics[at.metric];
  if (!metric.is_map()) return;
  if (needs_no_reduction(at)) return visit_map_entries(metric, read(at).state, visit);
  for (const auto& [key, part] : parts_over_runs(at)) visit(part);
}

// Returns the median of each key over the runs that have it and the runs that lack the group's
// rows.
std::map<std::string_view, MapEntry> Rollup::parts_over_runs(CellPosition at) const {
  std::map<std::string_view, std::pair<MapEntry, std::vector<ctprof_number>>> found;
  for_each_run(at, [&](std::size_t run, std::uint32_t group) {
    visit_map_entries(plan_->metrics[at.metric], runs_[run].read(group, at.metric).state,
                      [&](const MapEntry& part) {
                        auto& [last, numbers] = found[part.key];
                        last = part;
                        numbers.push_back(is_key_per_second(at.metric, part.key)
                                              ? to_rate(part.number, run, at.metric)
                                              : part.number);
                      });
  });
  const SideRuns& side = sides_[at.side];
  std::size_t absent_runs = 0;
  for (std::size_t run = side.first; run < side.first + side.count; ++run)
    absent_runs += lacks_rows(run, at) && runs_[run].records_metric(at.metric);
  std::map<std::string_view, MapEntry> parts;
  for (auto& [key, of_runs] : found) {
    auto& numbers = of_runs.second;
    if (plan_->metrics[at.metric].key_is_sum(key))
      numbers.resize(numbers.size() + absent_runs, make_number(std::uint64_t{0}));
    of_runs.first.number = median(std::move(numbers));
    parts.emplace(key, of_runs.first);
  }
  return parts;
}

}  // namespace ctprof

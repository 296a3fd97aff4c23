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

void hand_part(void* visit, ctprof_text key, ctprof_number number, ctprof_text unit) {
  (*static_cast<const std::function<void(const Part&)>*>(visit))(
      {{key.data, key.size}, number, {unit.data, unit.size}});
}

// Visits the keys of a map, ordered by their bytes; none if nothing was read.
void visit_parts(const PlannedMetric& map, const void* state,
                 const std::function<void(const Part&)>& visit) {
  if (!state) return;
  const ctprof_parts out{sizeof(ctprof_parts), 0,
                         const_cast<std::function<void(const Part&)>*>(&visit), hand_part};
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
  return number_of((as_double(numbers[middle - 1]) + as_double(numbers[middle])) / 2);
}

Rollup::Rollup(std::vector<RunFigures> runs, std::vector<SideRuns> sides,
               std::vector<double> seconds, const Grouping& grouping, const MetricPlan& plan)
    : grouping_(&grouping),
      plan_(&plan),
      runs_(std::move(runs)),
      sides_(std::move(sides)),
      seconds_(std::move(seconds)) {
  for (std::size_t run = 0; run < runs_.size(); ++run) unite_groups(run);
  for (const SideRuns& side : sides_)
    pooled_.push_back(side.count > 1 ? pool(side) : std::vector<States>{});
  for (RunFigures& run : runs_) run.finish();
}

// Merges the run's own groups that form one joined group.
void Rollup::unite_groups(std::size_t run) {
  const RunPlaces& places = grouping_->runs[run];
  for (std::uint32_t own = 0; own < places.group_of.size(); ++own)
    if (const std::uint32_t first = places.own[places.group_of[own]]; first != own)
      runs_[run].unite(first, own);
}

// Returns whether the value of a run is a number, also in JSON.
bool Rollup::has_median(std::size_t metric) const {
  const PlannedMetric& planned = plan_->metrics[metric];
  return !planned.rule || (planned.rule->number && !planned.rule->json);
}

// Merges the states of all runs of the side, for metrics without a median.
std::vector<States> Rollup::pool(const SideRuns& side) const {
  std::vector<States> pooled(plan_->metrics.size());
  for (std::size_t metric = 0; metric < pooled.size(); ++metric) {
    const PlannedMetric& planned = plan_->metrics[metric];
    if (has_median(metric) || planned.left_out) continue;
    const std::size_t groups = grouping_->count(planned.entity);
    pooled[metric] = States(*planned.rule, groups, planned.rule_owner);
    for (std::size_t run = side.first; run < side.first + side.count; ++run)
      for (std::uint32_t group = 0; group < groups; ++group) {
        const std::uint32_t its = own(run, {0, group, metric});
        const States& states = runs_[run].states(metric);
        if (its != kNoGroup && !states.empty()) pooled[metric].merge(group, states, its);
      }
    pooled[metric].finish();
  }
  return pooled;
}

std::uint32_t Rollup::own(std::size_t run, CellAt at) const {
  const bool of_host = plan_->metrics[at.metric].entity == Entity::Host;
  return of_host ? at.group : grouping_->runs[run].own[at.group];
}

bool Rollup::per_second(std::size_t metric) const {
  return !seconds_.empty() && plan_->metrics[metric].adds_up;
}

bool Rollup::key_per_second(std::size_t metric, std::string_view key) const {
  return !seconds_.empty() && plan_->metrics[metric].key_adds_up(key);
}

// Returns no number for a window of length zero.
ctprof_number Rollup::per_second(const ctprof_number& number, std::size_t run,
                                 std::size_t metric) const {
  const double covered = runs_[run].covered_ns(metric) / kNsPerSecond;
  const double seconds = covered > 0 ? covered : seconds_[run];
  return has_value(number) && seconds > 0 ? number_of(as_double(number) / seconds) : no_number();
}

// Returns whether the side has a single run whose value is used unchanged.
bool Rollup::is_plain(CellAt at) const {
  const bool is_scaled = !seconds_.empty() &&
                         (plan_->metrics[at.metric].is_map() || plan_->metrics[at.metric].adds_up);
  return runs(at.side) == 1 && !is_scaled;
}

std::size_t Rollup::runs_with(CellAt at) const {
  std::size_t count = 0;
  for_each_run(at, [&](std::size_t run, std::uint32_t group) {
    count += runs_[run].read(group, at.metric).has_value();
  });
  return count;
}

CellValue Rollup::read(CellAt at) const {
  if (!is_plain(at)) return read_together(at);
  const std::size_t only = sides_[at.side].first;
  const std::uint32_t group = own(only, at);
  return group == kNoGroup ? CellValue{} : runs_[only].read(group, at.metric);
}

bool Rollup::lacks_rows(std::size_t run, CellAt at) const {
  const std::uint32_t its = own(run, at);
  return its == kNoGroup || runs_[run].coverage(its, at.metric).rows == 0;
}

// Returns whether the run lacks the group or its rows, and therefore counts as zero in a sum.
bool Rollup::has_nothing(std::size_t run, CellAt at) const {
  return lacks_rows(run, at) && runs_[run].counts_absence(at.metric);
}

// Returns the numbers of which the median is computed: number(run, own group) for runs with rows of
// the group, and zeros for runs that count as zero. Empty if no run has rows.
template <class Number>
std::vector<ctprof_number> Rollup::numbers_of_runs(CellAt at, Number number) const {
  const SideRuns& side = sides_[at.side];
  std::vector<ctprof_number> numbers;
  std::size_t absent = 0;
  for (std::size_t run = side.first; run < side.first + side.count; ++run) {
    if (has_nothing(run, at))
      ++absent;
    else if (const std::uint32_t its = own(run, at); its != kNoGroup)
      numbers.push_back(number(run, its));
  }
  if (!numbers.empty()) numbers.resize(numbers.size() + absent, number_of(std::uint64_t{0}));
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
  double largest = per_second(metric) ? 0 : unit;
  for (const std::size_t run : runs)
    if (per_second(metric))
      largest = std::max(largest, as_double(per_second(number_of(unit), run, metric)));
  return largest;
}

double Rollup::figure_of_run(std::size_t run, std::uint32_t group, std::size_t metric) const {
  const CellAt at{0, group, metric};
  if (has_nothing(run, at)) return 0;
  const std::uint32_t its = own(run, at);
  if (its == kNoGroup) return std::nan("");
  const CellValue value = runs_[run].read(its, metric);
  return as_double(per_second(metric) ? per_second(value.number, run, metric) : value.number);
}

std::vector<double> Rollup::run_numbers(CellAt at) const {
  const SideRuns& side = sides_[at.side];
  std::vector<double> numbers;
  for (std::size_t run = side.first; run < side.first + side.count; ++run)
    numbers.push_back(figure_of_run(run, at.group, at.metric));
  return numbers;
}

CellValue Rollup::read_together(CellAt at) const {
  const PlannedMetric& planned = plan_->metrics[at.metric];
  CellValue together;
  together.coverage = coverage(at);
  together.made_of = made_of(at);
  auto numbers = numbers_of_runs(at, [&](std::size_t run, std::uint32_t group) {
    const CellValue value = runs_[run].read(group, at.metric);
    if (!together.state) together.state = value.state;
    return per_second(at.metric) ? per_second(value.number, run, at.metric) : value.number;
  });
  if (has_median(at.metric)) {
    together.state = nullptr;
    together.number = median(std::move(numbers));
  } else if (together.state && runs(at.side) > 1) {
    together.state = pooled_[at.side][at.metric][at.group];
    if (planned.rule->number)
      together.number = call_rule(planned.rule_owner, "number",
                                  [&] { return planned.rule->number(together.state); });
  }
  return together;
}

// Returns as many entries as collect_run_numbers() does.
std::vector<RunStacks> Rollup::stacks(CellAt at) const {
  const SideRuns& side = sides_[at.side];
  std::vector<RunStacks> found;
  std::size_t absent = 0;
  for (std::size_t run = side.first; run < side.first + side.count; ++run) {
    if (has_nothing(run, at))
      ++absent;
    else if (const auto stacks = stacks_of_run(run, at.group, at.metric))
      found.push_back(*stacks);
  }
  if (!found.empty()) found.resize(found.size() + absent);
  return found;
}

std::optional<RunStacks> Rollup::stacks_of_run(std::size_t run, std::uint32_t group,
                                               std::size_t metric) const {
  const CellAt at{0, group, metric};
  if (has_nothing(run, at)) return RunStacks{};
  const std::uint32_t its = own(run, at);
  const void* state = its == kNoGroup ? nullptr : runs_[run].read(its, metric).state;
  const ctprof_number one = number_of(std::uint64_t{1});
  const double scale = as_double(per_second(metric) ? per_second(one, run, metric) : one);
  if (!state || std::isnan(scale)) return std::nullopt;
  return RunStacks{rules::stacks_in(state), scale};
}

Coverage Rollup::coverage(CellAt at) const {
  Coverage all;
  for_each_run(at, [&](std::size_t run, std::uint32_t group) {
    const Coverage of_run = runs_[run].coverage(group, at.metric);
    all.values += of_run.values;
    all.rows += of_run.rows;
  });
  return all;
}

MadeOf Rollup::made_of(CellAt at) const {
  MadeOf first;
  for_each_run(at, [&](std::size_t run, std::uint32_t group) {
    if (!first.has_parts()) first = runs_[run].made_of(group, at.metric);
  });
  return first;
}

const Busiest* Rollup::busiest(CellAt at) const {
  const Busiest* most = nullptr;
  for_each_run(at, [&](std::size_t run, std::uint32_t group) {
    const Busiest* of_run = runs_[run].busiest(group, at.metric);
    if (of_run && (!most || of_run->reading > most->reading)) most = of_run;
  });
  return most;
}

Difference Rollup::change(CellAt at) const {
  if (runs(at.side) == 1) {
    const std::size_t only = sides_[at.side].first;
    const std::uint32_t group = own(only, at);
    return group == kNoGroup ? Difference{} : runs_[only].change(group, at.metric);
  }
  return change_over_runs(at);
}

// A run without rows of the group still has a change if all processes of the group exited in the
// window.
Difference Rollup::change_over_runs(CellAt at) const {
  const SideRuns& side = sides_[at.side];
  std::vector<ctprof_number> changes;
  bool any = false;
  for (std::size_t run = side.first; run < side.first + side.count; ++run) {
    const std::uint32_t group = own(run, at);
    const Difference change =
        group == kNoGroup ? Difference{} : runs_[run].change(group, at.metric);
    const bool is_absent = !change.known() && has_nothing(run, at);
    if (group == kNoGroup && !is_absent) continue;
    any = any || !is_absent;
    changes.push_back(is_absent ? number_of(std::uint64_t{0}) : as_number(change));
  }
  return any ? as_difference(median(std::move(changes))) : Difference{};
}

Difference Rollup::change(CellAt at, std::string_view key, const ctprof_number& now) const {
  if (runs(at.side) != 1) return {};
  const std::size_t only = sides_[at.side].first;
  const std::uint32_t group = own(only, at);
  return group == kNoGroup ? Difference{} : runs_[only].change(group, at.metric, key, now);
}

Beginning Rollup::beginning(CellAt at) const {
  Beginning latest = Beginning::None;
  for_each_run(at, [&](std::size_t run, std::uint32_t group) {
    latest = std::max(latest, runs_[run].beginning(group, at.metric));
  });
  return latest;
}

const GroupTimes* Rollup::times(std::size_t side, std::uint32_t group) const {
  const std::uint32_t own = grouping_->runs[sides_[side].first].own[group];
  return own == kNoGroup ? nullptr : &run(side).times(own);
}

void Rollup::parts(CellAt at, const std::function<void(const Part&)>& visit) const {
  const PlannedMetric& metric = plan_->metrics[at.metric];
  if (!metric.is_map()) return;
  if (is_plain(at)) return visit_parts(metric, read(at).state, visit);
  for (const auto& [key, part] : parts_together(at)) visit(part);
}

// Returns the median of each key over the runs that have it and the runs that lack the group's
// rows.
std::map<std::string_view, Part> Rollup::parts_together(CellAt at) const {
  std::map<std::string_view, std::pair<Part, std::vector<ctprof_number>>> found;
  for_each_run(at, [&](std::size_t run, std::uint32_t group) {
    visit_parts(plan_->metrics[at.metric], runs_[run].read(group, at.metric).state,
                [&](const Part& part) {
                  auto& [last, numbers] = found[part.key];
                  last = part;
                  numbers.push_back(key_per_second(at.metric, part.key)
                                        ? per_second(part.number, run, at.metric)
                                        : part.number);
                });
  });
  const SideRuns& side = sides_[at.side];
  std::size_t absent = 0;
  for (std::size_t run = side.first; run < side.first + side.count; ++run)
    absent += lacks_rows(run, at) && runs_[run].measures(at.metric);
  std::map<std::string_view, Part> parts;
  for (auto& [key, of_runs] : found) {
    auto& numbers = of_runs.second;
    if (plan_->metrics[at.metric].key_is_sum(key))
      numbers.resize(numbers.size() + absent, number_of(std::uint64_t{0}));
    of_runs.first.number = median(std::move(numbers));
    parts.emplace(key, of_runs.first);
  }
  return parts;
}

}  // namespace ctprof

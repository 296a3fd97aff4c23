#include "core/tables/group_series.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/file/layout/cell.hpp"
#include "core/registry/map_labels.hpp"
#include "core/tables/exported_groups.hpp"
#include "core/tables/histogram_series.hpp"

namespace ctprof {
namespace {

constexpr const char* kKeyLabel = "key";
// Limit on counters, which are kept after their groups have disappeared. Beyond it they are
// removed.
constexpr std::size_t kMaxKeptCounters = 100'000;

using Labels = std::vector<std::pair<std::string, std::string>>;

// Escapes characters that a terminal does not show, because scrapes may be printed on one.
std::string escape_invisible(std::string_view name) {
  std::string text;
  while (!name.empty()) {
    const CodePoint point = first_code_point(name);
    char spelled[16];
    std::snprintf(spelled, sizeof spelled, "\\u{%x}", static_cast<unsigned>(point.value));
    text += !point.is_valid             ? kReplacement
            : is_printable(point.value) ? name.substr(0, point.bytes)
                                        : std::string_view(spelled);
    name.remove_prefix(point.bytes);
  }
  return text;
}

Labels make_labels(const Report& report, Entity entity, std::uint32_t group) {
  const auto names = get_label_names(report, entity);
  const auto values = get_label_values(report, entity, group);
  Labels labels;
  for (std::size_t i = 0; i < values.size(); ++i)
    labels.emplace_back(make_label_name(names[i]), escape_invisible(values[i]));
  return labels;
}

// Adds the labels of a map's key: those that the metric declares, or one for the key.
void add_key_labels(const PlannedMetric& metric, std::string_view key, Labels& labels) {
  if (metric.labels.empty()) return void(labels.emplace_back(kKeyLabel, escape_invisible(key)));
  std::vector<std::string> group_names;
  for (const auto& [name, value] : labels) group_names.push_back(name);
  const auto names = get_key_label_names(metric, group_names);
  const auto values = label_values(metric.labels, key);
  for (std::size_t i = 0; i < names.size(); ++i)
    labels.emplace_back(names[i], escape_invisible(values[i]));
}

// Returns the number of labels that add_key_labels() adds.
std::size_t count_key_labels(const PlannedMetric& metric) {
  return metric.labels.empty() ? 1 : label_names(metric.labels).size();
}

// Makes families from the report's metrics, in its order. Two metrics with the same name share a
// family only if they are keys of one map.
class FamilyMaker {
 public:
  FamilyMaker(const Report& report, const SeriesChoice& choice)
      : report_(&report), choice_(&choice) {
    if (const auto& window = report.sides().front().window) {
      length_ = static_cast<double>(window->length_ns) / 1e9;
      rate_seconds_ = window->rates_over_ns / 1e9;
    }
  }

  std::vector<SeriesFamily> make() {
    add_capture_series();
    for (std::size_t metric = 0; metric < report_->metrics().size(); ++metric)
      if (is_exported(*report_, report_->metrics()[metric], choice_->all_metrics))
        add_metric(metric);
    return std::move(families_);
  }

 private:
  void add_capture_series() {
    const RunFacts& run = report_->sides().front();
    const double captured = static_cast<double>(run.meta.start.wall_unix_ns) / 1e9;
    families_.push_back({"ctprof_captured_timestamp_seconds",
                         "seconds",
                         SeriesType::Gauge,
                         "When the figures were read.",
                         {{{}, captured}}});
    if (choice_->counted == CounterForm::PerSecond)
      families_.push_back({"ctprof_window_seconds",
                           "seconds",
                           SeriesType::Gauge,
                           "How long the window was.",
                           {{{}, length_}}});
  }

  void add_metric(std::size_t number) {
    const PlannedMetric& metric = report_->metrics()[number];
    if (metric.is_histogram()) return add_histogram(number);
    for (std::uint32_t group = 0; group < report_->grouping().count(metric.entity); ++group) {
      const CellPosition at{0, group, number};
      if (metric.is_map())
        report_->rollup().visit_map(at, [&](const MapEntry& part) {
          Labels labels = make_labels(*report_, metric.entity, group);
          add_key_labels(metric, part.key, labels);
          add_value(number, part.unit, metric.key_is_cumulative(part.key),
                    report_->rollup().is_key_per_second(number, part.key), part.number,
                    std::move(labels));
        });
      else
        add_value(number, metric.unit, metric.family == "cumulative",
                  report_->rollup().is_per_second(number), report_->rollup().read(at).number,
                  make_labels(*report_, metric.entity, group));
    }
  }

  void add_histogram(std::size_t number) {
    const PlannedMetric& metric = report_->metrics()[number];
    SeriesFamily prototype =
        make_histogram_family(metric.name, metric.unit, choice_->counted, user_hz());
    prototype.own_labels = 1;
    for (std::uint32_t group = 0; group < report_->grouping().count(metric.entity); ++group) {
      const void* state = report_->rollup().read({0, group, number}).state;
      SeriesFamily* family = state ? find_or_add_family(metric.name, prototype) : nullptr;
      if (!family) continue;
      for (auto& [limit, count] : make_cumulative_buckets(rules::buckets_in(state), metric.unit)) {
        Labels labels = make_labels(*report_, metric.entity, group);
        labels.emplace_back(kLimitLabel, std::move(limit));
        add_series(*family, std::move(labels), count);
      }
    }
  }

  // Returns the time base of the metric's rates; 0 if it is unknown.
  double get_rate_seconds(std::size_t metric) const {
    const double covered = report_->rollup().covered_ns(0, metric);
    return covered > 0 ? covered / 1e9 : rate_seconds_;
  }

  void add_value(std::size_t at, std::string_view unit, bool adds_up, bool is_rate,
                 const ctprof_number& number, Labels labels) {
    if (!has_value(number)) return;
    const PlannedMetric& metric = report_->metrics()[at];
    NamedFamily named = make_family(metric.name, unit, adds_up, choice_->counted, user_hz());
    if (metric.is_map()) named.family.own_labels = count_key_labels(metric);
    double value = as_double(number) * named.scale;
    if (metric.family == "limit" && number.kind == CTPROF_NUMBER_U64 && number.u64 == kNoBound)
      value = std::numeric_limits<double>::infinity();
    if (adds_up && choice_->counted == CounterForm::PerSecond && !is_rate)
      value = get_rate_seconds(at) > 0 ? value / get_rate_seconds(at) : std::nan("");
    if (std::isnan(value)) return;
    if (SeriesFamily* family = find_or_add_family(metric.name, named.family))
      add_series(*family, std::move(labels), value);
  }

  // Adds a series. Series whose names are spelled the same are merged, because readers reject
  // duplicates.
  void add_series(SeriesFamily& family, Labels labels, double value) {
    const auto [position, is_new] =
        series_positions_[family.name].try_emplace(labels, family.series.size());
    if (is_new)
      family.series.push_back({std::move(labels), value});
    else
      family.series[position->second].value += value;
  }

  // Returns the family; null if another metric already has its name.
  SeriesFamily* find_or_add_family(const std::string& metric, const SeriesFamily& prototype) {
    const auto [owner, is_new] = owners_.try_emplace(prototype.name, metric);
    if (owner->second != metric) return nullptr;
    if (is_new) {
      families_.push_back(prototype);
      return &families_.back();
    }
    const auto known = std::ranges::find(families_, prototype.name, &SeriesFamily::name);
    return known->type == prototype.type ? &*known : nullptr;
  }

  double user_hz() const {
    const std::uint64_t hz = report_->sides().front().meta.user_hz;
    return hz > 0 ? static_cast<double>(hz) : 100;
  }

  const Report* report_;
  const SeriesChoice* choice_;
  double length_ = 0, rate_seconds_ = 0;  // length of the window, and time base of rates
  std::vector<SeriesFamily> families_;
  std::map<std::string, std::string> owners_;  // metrics, by the name of their family
  std::map<std::string, std::map<Labels, std::size_t>> series_positions_;  // positions of series
};

bool has_buckets(const SeriesFamily& family) {
  return family.type == SeriesType::Histogram || family.type == SeriesType::GaugeHistogram;
}

// Returns the labels that identify the group of a series. The host has no groups: each key of its
// maps counts as one, and its other series have no labels.
Labels get_group_labels(const SeriesFamily& family, const Series& series) {
  Labels labels = series.labels;
  const bool is_key_of_host = labels.size() == family.own_labels && !has_buckets(family);
  if (!is_key_of_host)
    labels.resize(labels.size() - std::min(labels.size(), family.own_labels));
  else if (!labels.empty())
    labels.emplace_back("", family.name);
  return labels;
}

struct GroupWeight {
  double share = 0;  // the largest share
  std::size_t series = 0;
};

std::map<Labels, GroupWeight> compute_weights(std::span<const SeriesFamily> families) {
  std::map<Labels, GroupWeight> groups;
  for (const SeriesFamily& family : families) {
    double total = 0;
    for (const Series& series : family.series)
      if (std::isfinite(series.value)) total += std::abs(series.value);
    for (const Series& series : family.series) {
      const Labels labels = get_group_labels(family, series);
      if (labels.empty()) continue;
      GroupWeight& group = groups[labels];
      ++group.series;
      if (total > 0 && std::isfinite(series.value))
        group.share = std::max(group.share, std::abs(series.value) / total);
    }
  }
  return groups;
}

std::size_t count_series(std::span<const SeriesFamily> families) {
  std::size_t count = 0;
  for (const SeriesFamily& family : families) count += family.series.size();
  return count;
}

// Sorts by decreasing weight; ties by name.
std::vector<std::pair<Labels, GroupWeight>> sort_by_weight(
    const std::map<Labels, GroupWeight>& groups) {
  std::vector<std::pair<Labels, GroupWeight>> order(groups.begin(), groups.end());
  std::ranges::stable_sort(order, std::greater(),
                           [](const auto& group) { return group.second.share; });
  return order;
}

}  // namespace

std::vector<SeriesFamily> make_series(const Report& report, const SeriesChoice& choice) {
  return FamilyMaker(report, choice).make();
}

namespace {

bool only_grows(const SeriesFamily& family) {
  return family.type == SeriesType::Counter || family.type == SeriesType::Histogram;
}

}  // namespace

void SeriesTotals::add(std::vector<SeriesFamily> families) {
  std::size_t kept_counters = 0;
  for (SeriesFamily& family : families) {
    if (!only_grows(family)) continue;
    auto& totals = totals_[family.name];
    for (const Series& series : family.series) totals[series.labels] += series.value;
    kept_counters += totals.size();
  }
  for (SeriesFamily& family : families) {
    if (!only_grows(family)) continue;
    auto& totals = totals_[family.name];
    if (kept_counters > kMaxKeptCounters) {
      std::set<Labels> current;
      for (const Series& series : family.series) current.insert(series.labels);
      std::erase_if(totals, [&](const auto& total) { return current.count(total.first) == 0; });
    }
    family.series.clear();
    for (const auto& [labels, value] : totals) family.series.push_back({labels, value});
  }
  families_ = std::move(families);
}

OmittedSeries limit_series(std::vector<SeriesFamily>& families, std::size_t max_series) {
  OmittedSeries omitted;
  const std::size_t all = count_series(families);
  if (max_series == 0 || all <= max_series) return omitted;
  const auto order = sort_by_weight(compute_weights(families));
  std::size_t remaining = all + 1;  // including the series about omitted groups
  std::set<Labels> dropped;
  for (auto it = order.rbegin(); it != order.rend() && remaining > max_series; ++it) {
    remaining -= it->second.series;
    omitted.series += it->second.series;
    dropped.insert(it->first);
  }
  omitted.groups = dropped.size();
  for (SeriesFamily& family : families)
    std::erase_if(family.series, [&](const Series& series) {
      return dropped.count(get_group_labels(family, series)) > 0;
    });
  families.push_back({"ctprof_groups_left_out",
                      "",
                      SeriesType::Gauge,
                      "Groups without series, because there are more than --max-series allows.",
                      {{{}, static_cast<double>(omitted.groups)}}});
  return omitted;
}

}  // namespace ctprof

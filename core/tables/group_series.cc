#include "core/tables/group_series.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/file/layout/cell.hpp"

namespace ctprof {
namespace {

constexpr const char* kKeyLabel = "key";
// Limit on counters, which are kept after their groups have disappeared. Beyond it they are
// removed.
constexpr std::size_t kMostKept = 100'000;

using Labels = std::vector<std::pair<std::string, std::string>>;

std::string axis_label(const Spec& spec) {
  switch (spec.group_by) {
    case GroupBy::CommExact: return "comm";
    case GroupBy::Pid: return "process";
    default: return label_name(axis_word(spec));
  }
}

// Escapes characters that a terminal does not show, because scrapes may be printed on one.
std::string showable(std::string_view name) {
  std::string text;
  while (!name.empty()) {
    const CodePoint point = first_code_point(name);
    char spelled[16];
    std::snprintf(spelled, sizeof spelled, "\\u{%x}", static_cast<unsigned>(point.value));
    text += !point.valid               ? kReplacement
            : is_showable(point.value) ? name.substr(0, point.bytes)
                                       : std::string_view(spelled);
    name.remove_prefix(point.bytes);
  }
  return text;
}

Labels labels_of(const Report& report, Entity entity, std::uint32_t group) {
  if (entity == Entity::Host) return {};
  const auto parts = key_parts(report.grouping().names[group]);
  if (report.spec().group_by != GroupBy::All)
    return {{axis_label(report.spec()), showable(parts.front())}};
  constexpr std::array kParts{"cgroup", "pcomm", "comm"};
  Labels labels;
  for (std::size_t i = 0; i < std::min(parts.size(), kParts.size()); ++i)
    labels.emplace_back(kParts[i], showable(parts[i]));
  return labels;
}

// Makes families from the report's metrics, in its order. Two metrics with the same name share a
// family only if they are keys of one map.
class Maker {
 public:
  Maker(const Report& report, const SeriesChoice& choice) : report_(&report), choice_(&choice) {
    if (const auto& window = report.sides().front().window) {
      length_ = static_cast<double>(window->length_ns) / 1e9;
      seconds_ = window->rates_over_ns / 1e9;
    }
  }

  std::vector<SeriesFamily> make() {
    add_facts();
    for (std::size_t metric = 0; metric < report_->metrics().size(); ++metric)
      if (is_told(report_->metrics()[metric])) add(metric);
    return std::move(families_);
  }

 private:
  bool is_told(const PlannedMetric& metric) const {
    if (!metric.shown || metric.left_out || metric.family == "categorical" ||
        metric.family == "identity")
      return false;
    if (!report_->spec().metrics.empty() || choice_->all) return true;
    return metric.headline || metric.counts_rows;
  }

  void add_facts() {
    const RunFacts& run = report_->sides().front();
    const double captured = static_cast<double>(run.meta.start.wall_unix_ns) / 1e9;
    families_.push_back({"ctprof_captured_timestamp_seconds",
                         "seconds",
                         SeriesType::Gauge,
                         "When the figures were read.",
                         {{{}, captured}}});
    if (choice_->counted == Counted::PerSecond)
      families_.push_back({"ctprof_window_seconds",
                           "seconds",
                           SeriesType::Gauge,
                           "How long the window was.",
                           {{{}, length_}}});
  }

  void add(std::size_t number) {
    const PlannedMetric& metric = report_->metrics()[number];
    for (std::uint32_t group = 0; group < report_->grouping().count(metric.entity); ++group) {
      const CellAt at{0, group, number};
      if (metric.is_map())
        report_->rollup().parts(at, [&](const Part& part) {
          Labels labels = labels_of(*report_, metric.entity, group);
          labels.emplace_back(kKeyLabel, showable(part.key));
          add(number, part.unit, metric.key_adds_up(part.key),
              report_->rollup().key_per_second(number, part.key), part.number, std::move(labels));
        });
      else
        add(number, metric.unit, metric.family == "cumulative",
            report_->rollup().per_second(number), report_->rollup().read(at).number,
            labels_of(*report_, metric.entity, group));
    }
  }

  // Returns the time base of the metric's rates; 0 if it is unknown.
  double seconds_of(std::size_t metric) const {
    const double covered = report_->rollup().covered_ns(0, metric);
    return covered > 0 ? covered / 1e9 : seconds_;
  }

  void add(std::size_t at, std::string_view unit, bool adds_up, bool is_rate,
           const ctprof_number& number, Labels labels) {
    if (!has_value(number)) return;
    const PlannedMetric& metric = report_->metrics()[at];
    const NamedFamily named = family_of(metric.name, unit, adds_up, choice_->counted, user_hz());
    double value = as_double(number) * named.scale;
    if (metric.family == "limit" && number.kind == CTPROF_NUMBER_U64 && number.u64 == kNoBound)
      value = std::numeric_limits<double>::infinity();
    if (adds_up && choice_->counted == Counted::PerSecond && !is_rate)
      value = seconds_of(at) > 0 ? value / seconds_of(at) : std::nan("");
    if (std::isnan(value)) return;
    if (SeriesFamily* family = find(metric.name, named.family))
      put(*family, std::move(labels), value);
  }

  // Adds a series. Series whose names are spelled the same are merged, because readers reject
  // duplicates.
  void put(SeriesFamily& family, Labels labels, double value) {
    const auto [place, is_new] = places_[family.name].try_emplace(labels, family.series.size());
    if (is_new)
      family.series.push_back({std::move(labels), value});
    else
      family.series[place->second].value += value;
  }

  // Returns the family; null if another metric already has its name.
  SeriesFamily* find(const std::string& metric, const SeriesFamily& like) {
    const auto [owner, is_new] = owners_.try_emplace(like.name, metric);
    if (owner->second != metric) return nullptr;
    if (is_new) {
      families_.push_back(like);
      return &families_.back();
    }
    const auto known = std::ranges::find(families_, like.name, &SeriesFamily::name);
    return known->type == like.type ? &*known : nullptr;
  }

  double user_hz() const {
    const std::uint64_t hz = report_->sides().front().meta.user_hz;
    return hz > 0 ? static_cast<double>(hz) : 100;
  }

  const Report* report_;
  const SeriesChoice* choice_;
  double length_ = 0, seconds_ = 0;  // length of the window, and time base of rates
  std::vector<SeriesFamily> families_;
  std::map<std::string, std::string> owners_;  // metrics, by the name of their family
  std::map<std::string, std::map<Labels, std::size_t>> places_;  // positions of series
};

Labels group_of(const Series& series) {
  Labels labels = series.labels;
  if (!labels.empty() && labels.back().first == kKeyLabel) labels.pop_back();
  return labels;
}

struct GroupWeight {
  double share = 0;  // the largest share
  std::size_t series = 0;
};

std::map<Labels, GroupWeight> weigh(std::span<const SeriesFamily> families) {
  std::map<Labels, GroupWeight> groups;
  for (const SeriesFamily& family : families) {
    double total = 0;
    for (const Series& series : family.series)
      if (std::isfinite(series.value)) total += std::abs(series.value);
    for (const Series& series : family.series) {
      const Labels labels = group_of(series);
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
std::vector<std::pair<Labels, GroupWeight>> by_weight(const std::map<Labels, GroupWeight>& groups) {
  std::vector<std::pair<Labels, GroupWeight>> order(groups.begin(), groups.end());
  std::ranges::stable_sort(order, std::greater(),
                           [](const auto& group) { return group.second.share; });
  return order;
}

}  // namespace

std::vector<SeriesFamily> series_of(const Report& report, const SeriesChoice& choice) {
  return Maker(report, choice).make();
}

void SeriesTotals::add(std::vector<SeriesFamily> families) {
  std::size_t kept = 0;
  for (SeriesFamily& family : families) {
    if (family.type != SeriesType::Counter) continue;
    auto& totals = totals_[family.name];
    for (const Series& series : family.series) totals[series.labels] += series.value;
    kept += totals.size();
  }
  for (SeriesFamily& family : families) {
    if (family.type != SeriesType::Counter) continue;
    auto& totals = totals_[family.name];
    if (kept > kMostKept) {
      std::set<Labels> here;
      for (const Series& series : family.series) here.insert(series.labels);
      std::erase_if(totals, [&](const auto& total) { return here.count(total.first) == 0; });
    }
    family.series.clear();
    for (const auto& [labels, value] : totals) family.series.push_back({labels, value});
  }
  families_ = std::move(families);
}

SeriesCut cut_series(std::vector<SeriesFamily>& families, std::size_t most) {
  SeriesCut cut;
  const std::size_t all = count_series(families);
  if (most == 0 || all <= most) return cut;
  const auto order = by_weight(weigh(families));
  std::size_t left = all + 1;  // including the series about omitted groups
  std::set<Labels> dropped;
  for (auto it = order.rbegin(); it != order.rend() && left > most; ++it) {
    left -= it->second.series;
    cut.series += it->second.series;
    dropped.insert(it->first);
  }
  cut.groups = dropped.size();
  for (SeriesFamily& family : families)
    std::erase_if(family.series,
                  [&](const Series& series) { return dropped.count(group_of(series)) > 0; });
  families.push_back({"ctprof_groups_left_out",
                      "",
                      SeriesType::Gauge,
                      "Groups without series, because there are more than --max-series allows.",
                      {{{}, static_cast<double>(cut.groups)}}});
  return cut;
}

}  // namespace ctprof

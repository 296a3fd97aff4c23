// Makes families of series for Prometheus from the figures of a report's groups, and limits their
// number.
//
// Only groups have series, not threads. By default, the series are the metrics of the first screen
// and the number of threads; if a report has only some metrics, these. Texts, categories and gaps
// have no series; an unlimited limit is +Inf.
//
// See also: metric_family.hpp (names and units), exposition.hpp (text).

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/compare/report/report.hpp"
#include "core/tables/exposition.hpp"
#include "core/tables/metric_family.hpp"

namespace ctprof {

struct SeriesChoice {
  bool all_metrics = false;  // all metrics instead of those of the first screen
  CounterForm counted = CounterForm::Lifetime;
};

// REQUIRES: a report of one side.
std::vector<SeriesFamily> make_series(const Report& report, const SeriesChoice& choice);

// Sums the counters of consecutive windows, series by series, so that they only grow. Other series
// are those of the last window.
class SeriesTotals {
 public:
  // REQUIRES: families with CounterForm::Total.
  void add(std::vector<SeriesFamily> families);
  const std::vector<SeriesFamily>& families() const { return families_; }

 private:
  using Labels = std::vector<std::pair<std::string, std::string>>;
  std::map<std::string, std::map<Labels, double>> totals_;  // counters, by name
  std::vector<SeriesFamily> families_;
};

struct OmittedSeries {
  std::size_t groups = 0;  // omitted groups
  std::size_t series = 0;  // omitted series
};
// Removes the groups with the smallest weights until there are at most `max_series` series; 0: no
// limit. The weight of a group is its largest share of any family. Each key of a map of the host
// counts as a group; other series without a group stay. An added series contains the number of
// omitted groups.
OmittedSeries limit_series(std::vector<SeriesFamily>& families, std::size_t max_series);

}  // namespace ctprof

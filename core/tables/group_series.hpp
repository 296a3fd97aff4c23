// The figures of a report's groups as families of series, for Prometheus; and a cap on how many.
//
// Groups alone: no thread has a series. By default the metrics of the first screen are told, and
// how many threads there are; where a report is of some metrics only, these. Texts and categories
// have no series, a gap has none either; a limit without bound is +Inf.
//
// Not here: names and units (metric_family.hpp), text (exposition.hpp).

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
  bool all = false;  // rather than the metrics of the first screen
  Counted counted = Counted::Lifetime;
};

// REQUIRES: a report of one side.
std::vector<SeriesFamily> series_of(const Report& report, const SeriesChoice& choice);

// Adds up what windows have, series by series, so that counters only grow; what else there is, is
// that of the last window.
class SeriesTotals {
 public:
  // REQUIRES: families with Counted::Total.
  void add(std::vector<SeriesFamily> families);
  const std::vector<SeriesFamily>& families() const { return families_; }

 private:
  using Labels = std::vector<std::pair<std::string, std::string>>;
  std::map<std::string, std::map<Labels, double>> totals_;  // of counters, by name
  std::vector<SeriesFamily> families_;
};

struct SeriesCut {
  std::size_t groups = 0;  // left out
  std::size_t series = 0;  // theirs
};
// Leaves out the lightest groups until there are at most so many series; 0: any number. A group's
// weight is its largest share of any family, those without groups stay. The families say how many
// groups are left out.
SeriesCut cut_series(std::vector<SeriesFamily>& families, std::size_t most);

}  // namespace ctprof

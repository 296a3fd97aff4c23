#include <algorithm>
#include <string>
#include <utility>

#include "core/base/number.hpp"
#include "core/compare/report/finding_thresholds.hpp"
#include "core/compare/report/row_findings.hpp"
#include "core/compare/report/screen_values.hpp"

namespace ctprof {
namespace {

using namespace finding_thresholds;

class MemoryFindings : ScreenValues {
 public:
  MemoryFindings(const Report& report, std::vector<Finding>& found)
      : ScreenValues(report), findings_(&found) {}

  void find() {
    for (const ScreenRow& row : screen_->rows)
      if (row.threads.back().total() != 0) find_memory(row);
  }

 private:
  // Processes that start or exit also change the memory of their group, but do not count as growth.
  // For a side with several runs, the processes are unknown, and the change of the group is used.
  void find_memory(const ScreenRow& row) {
    if (!resident_ || row.is_new()) return;
    const double size = screen_->machine.memory_bytes;
    const double minimum = size > 0 ? std::max(kMinGrowth, kMinGrowthShare * size) : kMinGrowth;
    const auto figures = screen_->figures(row, *resident_);
    const ScreenFigure& last = figures.back();
    const double inside =
        are_processes_known() ? std::min(last.change, signs(row).lasting_growth()) : last.change;
    const double between =
        is_comparison() && may_be_finding(row, *resident_) ? growth_between(row) : 0;
    const bool is_inside = exceeds(inside, figures.front().change, minimum);
    if (last.is_new || !(is_inside || between >= minimum)) return;
    const double growth = is_inside ? inside : between;
    findings_->push_back(
        make_finding("memory", row,
                     "grew by " + format_brief(growth, "bytes") + "B " +
                         (is_inside ? "in " + window_duration() : "between the windows") + ", to " +
                         format_brief(current_value(row, *resident_), "bytes") + "B",
                     screen_->columns[*resident_].weight.share_of(growth), NextStep::Threads));
  }

  bool are_processes_known() const { return last_runs().size() == 1; }
  const GroupSigns& signs(const ScreenRow& row) const {
    return report_->signs(report_->sides().size() - 1)[row.group];
  }

  // Returns the growth of processes that exist in both windows; if there are none, the growth of
  // the group if each window has the same processes throughout.
  double growth_between(const ScreenRow& row) const {
    const GroupSigns &first = report_->signs(0)[row.group], &last = signs(row);
    const double all = current_value(row, *resident_) - earlier_value(row, *resident_);
    if (const auto growth = last.growth_since(first)) return std::min(all, *growth);
    const auto changed = [](const GroupSigns& side) {
      return side.processes_started + side.processes_exited;
    };
    const bool is_job = std::ranges::any_of(last.large_processes,
                                            [](const LastingProcess& one) { return one.is_job; });
    return changed(first) + changed(last) > 0 || is_job ? 0 : all;
  }

  std::vector<Finding>* findings_;
};

}  // namespace

void find_memory_findings(const Report& report, std::vector<Finding>& found) {
  MemoryFindings(report, found).find();
}

}  // namespace ctprof

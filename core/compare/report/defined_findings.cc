#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/number.hpp"
#include "core/compare/report/findings.hpp"
#include "core/compare/report/row_findings.hpp"
#include "core/compare/report/screen_values.hpp"
#include "core/compare/report/sign_findings.hpp"
#include "core/registry/finding_statement.hpp"

namespace ctprof {
namespace {

NextStep to_next_step(ctprof_next_step next) {
  switch (next) {
    case CTPROF_NEXT_FIGURES: return NextStep::Figures;
    case CTPROF_NEXT_THREADS: return NextStep::Threads;
    case CTPROF_NEXT_STACKS: return NextStep::Waits;
    default: return NextStep::Nothing;
  }
}

// Counts below this number that are whole are printed without decimals: 8, not 8.0.
constexpr double kFirstWithoutDecimals = 100;

std::string format_value(double value, std::string_view unit) {
  if (unit == "count" && value >= 0 && value < kFirstWithoutDecimals && value == std::floor(value))
    return std::to_string(static_cast<int>(value));
  if (unit == "ns") return format_finding_seconds(value / 1e9);
  if (unit == "ratio") return format_brief(100 * value, "") + " %";
  return format_brief(value, unit);
}

class DefinedFindings : ScreenValues {
 public:
  DefinedFindings(const Report& report, std::vector<Finding>& found)
      : ScreenValues(report), findings_(&found) {}

  // Differences of these metrics are not tested, so sides with several runs have no such findings.
  void find() {
    if (last_runs().size() != 1 || (is_comparison() && report_->runs(0).size() != 1)) return;
    for (std::size_t at = 0; at < report_->metrics().size(); ++at)
      if (report_->metrics()[at].finding) find(at);
  }

 private:
  // The host is one group, with the number 0.
  std::size_t count_groups(const PlannedMetric& metric) const {
    return metric.entity == Entity::Host ? 1 : report_->grouping().names.size();
  }
  std::size_t last_side() const { return report_->sides().size() - 1; }

  double seconds(std::size_t side) const { return side == 0 ? first_seconds() : window_seconds(); }

  // Returns the value of a group, of a counter per second; NaN without a value.
  double value(std::size_t side, std::uint32_t group, std::size_t metric) const {
    const CellValue cell = report_->rollup().read({side, group, metric});
    if (!has_value(cell.number)) return kNaN;
    const double number = as_double(cell.number);
    const bool is_total =
        report_->metrics()[metric].is_cumulative && !report_->rollup().is_per_second(metric);
    return is_total ? number / seconds(side) : number;
  }

  // A group that reaches the threshold.
  struct Candidate {
    double value;
    std::uint32_t group;
  };

  // Only the largest values get a sentence: a file may define many findings that all groups reach.
  void find(std::size_t metric) {
    const double at_least = report_->metrics()[metric].finding->at_least;
    std::vector<Candidate> candidates;
    for (std::uint32_t group = 0; group < count_groups(report_->metrics()[metric]); ++group) {
      const double now = value(last_side(), group, metric);
      double earlier = is_comparison() ? value(0, group, metric) : 0;
      if (std::isnan(earlier)) earlier = 0;
      if (exceeds(now, earlier, at_least)) candidates.push_back({now, group});
    }
    const std::size_t kept = std::min(candidates.size(), kMaxFindings);
    std::ranges::partial_sort(
        candidates, candidates.begin() + static_cast<std::ptrdiff_t>(kept), {},
        [](const Candidate& one) { return std::pair(-one.value, one.group); });
    candidates.resize(kept);
    for (const Candidate& one : candidates) add(metric, one.group, one.value);
  }

  void add(std::size_t metric, std::uint32_t group, double now) {
    const PlannedMetric& planned = report_->metrics()[metric];
    const FindingDef& definition = *planned.finding;
    const bool is_host = planned.entity == Entity::Host;
    Finding found;
    found.rule = planned.name;
    if (!is_host) found.group = group;
    found.subject = is_host ? "the host" : report_->grouping().names[group];
    found.statement = make_statement(metric, group, now);
    found.weight = std::min(now * definition.weight, 1.0);
    found.next = to_next_step(definition.next);
    if (is_host && found.next == NextStep::Threads) found.next = NextStep::Nothing;
    found.section = planned.section;
    findings_->push_back(std::move(found));
  }

  std::string make_statement(std::size_t metric, std::uint32_t group, double now) const {
    const PlannedMetric& planned = report_->metrics()[metric];
    const auto parts = parse_statement(planned.finding->statement);
    std::string text;
    for (const StatementPart& part : *parts) {
      switch (part.kind) {
        case StatementPart::Kind::Text: text += part.text; break;
        case StatementPart::Kind::OwnValue: text += format_value(now, planned.unit); break;
        case StatementPart::Kind::Metric: text += format_metric(part.text, planned.entity, group);
      }
    }
    return text;
  }

  // Returns the value of the metric at the end of the window, of a counter its difference.
  std::string format_metric(std::string_view name, Entity entity, std::uint32_t group) const {
    const auto found = std::ranges::find(report_->metrics(), name, &PlannedMetric::name);
    if (found == report_->metrics().end() || found->entity != entity) return "?";
    const auto at = static_cast<std::size_t>(found - report_->metrics().begin());
    const double per_second = value(last_side(), group, at);
    if (std::isnan(per_second)) return "?";
    return format_value(found->is_cumulative ? per_second * seconds(last_side()) : per_second,
                        found->unit);
  }

  std::vector<Finding>* findings_;
};

}  // namespace

void find_defined_findings(const Report& report, std::vector<Finding>& found) {
  DefinedFindings(report, found).find();
}

}  // namespace ctprof

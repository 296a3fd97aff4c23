// The two families of tests in a comparison of sides with several runs. The first screen tests the
// headlines of all groups. The tables of --details test every shown metric whose number can be
// tested. A p value of one family is not valid in the other.
//
// A headline has its own floor. The floor of other metrics is a thousandth of the total over all
// groups, or a hundredth of the largest group if the metric is not additive.
//
// See also: evidence/evidence.hpp tests a family.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/compare/evidence/designs.hpp"
#include "core/compare/evidence/evidence.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/compare/report/screen.hpp"
#include "core/compare/request/spec.hpp"

namespace ctprof {

// Returns the condition under which the rows of a headline join their family.
FamilyCriterion family_criterion_of(const Headline& headline);

class Families {
 public:
  // REQUIRES: all arguments outlive this object; `designs` has one entry for each side except the
  // first.
  Families(const Rollup& rollup, const MetricPlan& plan, const Grouping& grouping,
           std::vector<std::optional<SideDesign>> designs, const SignificanceThreshold& threshold);

  // Returns whether any side can be tested; otherwise there is no evidence.
  bool can_test() const;
  const std::optional<SideDesign>& design(std::size_t side) const { return designs_[side - 1]; }

  std::span<const std::optional<SideDesign>> designs() const { return designs_; }

  // Tests these columns of all groups. `threads`: by side, then by group; groups whose threads all
  // belong to the recording process are excluded. REQUIRES: can_test(). Must be called before the
  // other functions.
  void add_headlines(std::span<const ScreenColumn> columns,
                     std::span<const std::vector<ScreenThreads>> threads);
  // Tests the headlines with other designs and does not store the result. Tests only the groups in
  // `only_groups` if it is not null.
  Evidence test_headlines(std::span<const ScreenColumn> columns,
                          std::span<const std::optional<SideDesign>> designs,
                          const std::vector<std::uint32_t>* only_groups = nullptr) const;
  // Null without headlines.
  const Evidence* headlines() const { return headlines_.get(); }
  // Null if nothing is tested. Computed on first use.
  const Evidence* get_details_evidence();
  // Returns whether a row of the details is significant.
  bool has_significant_detail();
  // The family of the groups of Spec::about, whose headlines are tested separately. Null without
  // such groups. `groups` are ascending.
  const Evidence* get_about_evidence() const { return about_.get(); }
  std::span<const std::uint32_t> about_groups() const { return about_groups_; }
  void add_about(std::span<const ScreenColumn> columns, std::vector<std::uint32_t> groups);
  // Returns the one result to show for a row: from the headlines if they contain the row, otherwise
  // from the details.
  std::optional<RowTestResult> find_result(std::uint32_t group, std::size_t metric,
                                           std::size_t side);

 private:
  bool are_blocks() const;
  std::vector<std::uint32_t> groups() const;
  std::vector<TestedMetric> find_tested_metrics() const;

  const Rollup* rollup_;
  const MetricPlan* plan_;
  const Grouping* grouping_;
  std::vector<std::optional<SideDesign>> designs_;
  SignificanceThreshold threshold_;
  std::vector<bool> is_of_recorder_;  // by group; empty: none
  std::unique_ptr<Evidence> headlines_, details_, about_;
  std::vector<std::uint32_t> about_groups_;
  std::optional<bool> has_significant_detail_;
};

}  // namespace ctprof

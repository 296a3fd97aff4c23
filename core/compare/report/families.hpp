// The two families of a report that compares sides of several runs: what the first screen tells,
// which is the headlines of all groups; and what the tables of --details tell, which is every
// metric that is shown, and has a number that can be judged. A p of the one says nothing about the
// other.
//
// A headline's floor is its own. Metrics without one have a thousandth of what all groups come to,
// or a hundredth of the largest if they do not add up.
//
// Not here: how a family is judged (evidence/evidence.hpp).

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/compare/asked/spec.hpp"
#include "core/compare/evidence/designs.hpp"
#include "core/compare/evidence/evidence.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/compare/report/screen.hpp"

namespace ctprof {

// What brings the rows of a headline into their family.
JoinsBy entry_of(const Headline& headline);

class Families {
 public:
  // REQUIRES: all of these outlive this; a design for each side but the first.
  Families(const Rollup& rollup, const MetricPlan& plan, const Grouping& grouping,
           std::vector<std::optional<SideDesign>> designs, const Bar& bar);

  // Whether any side is judged; otherwise there is no evidence at all.
  bool judge() const;
  const std::optional<SideDesign>& design(std::size_t side) const { return designs_[side - 1]; }

  std::span<const std::optional<SideDesign>> designs() const { return designs_; }

  // Judges the groups by these columns. `threads`: by side, then by group; groups that are all of
  // the process that recorded belong to no family. REQUIRES: judge(). Called before the others.
  void add_headlines(std::span<const ScreenColumn> columns,
                     std::span<const std::vector<ScreenThreads>> threads);
  // The same of other sides, and not kept; of these groups alone, if it is not null.
  Evidence judge_headlines(std::span<const ScreenColumn> columns,
                           std::span<const std::optional<SideDesign>> designs,
                           const std::vector<std::uint32_t>* only = nullptr) const;
  // Null without headlines.
  const Evidence* headlines() const { return headlines_.get(); }
  // Null where nothing is judged. Judged when first asked for.
  const Evidence* details();
  // Whether a row of the details is proven.
  bool any_detail_proven();
  // The family of the groups of Spec::about: their headlines, tested by themselves. Null without
  // such groups. `groups` are ascending.
  const Evidence* about() const { return about_.get(); }
  std::span<const std::uint32_t> about_groups() const { return about_groups_; }
  void add_about(std::span<const ScreenColumn> columns, std::vector<std::uint32_t> groups);
  // The evidence of a row wherever only one is told: of the headlines if it is among them.
  std::optional<Proof> any(std::uint32_t group, std::size_t metric, std::size_t side);

 private:
  bool are_blocks() const;
  std::vector<std::uint32_t> groups() const;
  std::vector<JudgedMetric> shown_metrics() const;

  const Rollup* rollup_;
  const MetricPlan* plan_;
  const Grouping* grouping_;
  std::vector<std::optional<SideDesign>> designs_;
  Bar bar_;
  std::vector<bool> is_own_;  // by group; empty: none is
  std::unique_ptr<Evidence> headlines_, details_, about_;
  std::vector<std::uint32_t> about_groups_;
  std::optional<bool> is_detail_proven_;
};

}  // namespace ctprof

// What one capture comes to, by groups and in all: what an index of many captures keeps of each.
//
// A report of a thousand hosts at once would hold a thousand runs. An index reduces each capture by
// itself, by the same rules, and lets it go: so two of its rows are as comparable as two sides of a
// report. What they have in common is the plan, which is made once for all captures that define
// their metrics in the same way.
//
// The total is of all rows, by each metric's own rule; of cgroups of those that are below no other,
// because a cgroup's figures include those below it. In a group that has no rows of a sum that the
// capture measures, the sum is zero, as it is where runs are compared.
//
// Not here: text (tools/ctprof/fleet), what an index does with it (tools/fleet).

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/run_figures.hpp"
#include "core/compare/report/screen.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

class CapturePlan {
 public:
  // The error says that the axis of `spec` is none of this capture.
  static Result<CapturePlan> make(const Snapshot& capture, const Spec& spec,
                                  const Knowledge& knowledge);
  // Whether it would be the same for another capture.
  bool fits(const Snapshot& capture) const;

  const Spec& spec() const { return spec_; }
  // The metrics of the groups, and those of cgroups, which only some axes have groups for.
  const MetricPlan& metrics() const { return metrics_; }
  const MetricPlan& of_cgroups() const { return of_cgroups_; }
  // Which metrics have a number: where in either plan. Cgroups' are of of_cgroups().
  struct Numbered {
    bool of_cgroups;
    std::size_t metric;
  };
  std::span<const Numbered> numbered() const { return numbered_; }
  const PlannedMetric& planned(const Numbered& one) const {
    return (one.of_cgroups ? of_cgroups_ : metrics_).metrics[one.metric];
  }
  // The columns of the first screen, in its order: where they are in metrics().
  std::span<const std::size_t> headlines() const { return headlines_; }
  // The newtype of a metric with a column; empty for others.
  const std::string& newtype(const PlannedMetric& metric) const;

 private:
  using Definitions = std::vector<SharedMetric>;
  static Definitions definitions_of(const Snapshot& capture);
  bool asks_for_little(const Snapshot& capture) const;

  Spec spec_;
  MetricPlan metrics_, of_cgroups_;
  std::vector<Numbered> numbered_;
  std::vector<std::size_t> headlines_;
  Definitions definitions_;
  std::vector<DerivedDef> derived_;
  std::size_t derived_bytes_ = 0;  // of their expressions
  bool is_window_ = false, is_for_others_ = false;
};

class CaptureFigures {
 public:
  // REQUIRES: a window is made of differences already; the plan fits, and outlives this.
  CaptureFigures(const Snapshot& capture, const CapturePlan& plan);

  // Names as a report of this capture alone has them; and what groups of several captures are
  // joined by, which is the same whatever else ran there.
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& patterns() const { return patterns_; }
  std::uint64_t threads(std::uint32_t group) const { return figures_->groups().threads[group]; }
  // Whether all its threads are of the process that recorded.
  bool is_own(std::uint32_t group) const { return is_own_[group]; }
  // None: a gap. `metric`: of metrics().
  ctprof_number figure(std::uint32_t group, std::size_t metric) const;

  ctprof_number total(const CapturePlan::Numbered& metric) const;
  Coverage coverage(const CapturePlan::Numbered& metric) const;
  // How many metrics have no figures, because that is more than such a file may ask for.
  std::size_t left_out() const { return left_out_; }

 private:
  std::uint32_t total_group(const PlannedMetric& metric) const;
  void reduce(const Snapshot& capture, RowGroups rows, const RunNodes& nodes);
  void reduce_cgroups(const Snapshot& capture, const RunNodes& nodes);

  const CapturePlan* plan_;
  std::optional<RunFigures> figures_, of_cgroups_;
  std::vector<std::string> names_, patterns_;
  std::vector<bool> is_own_;
  std::size_t left_out_ = 0;
};

}  // namespace ctprof

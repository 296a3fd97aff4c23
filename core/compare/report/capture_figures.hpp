// Reduces one capture to its values by group and in total, for an index of many captures.
//
// A report of a thousand hosts would keep a thousand runs in memory. An index reduces each capture
// separately and frees it. It uses the same rules as a report, so two of its rows are as comparable
// as two sides of a report. Captures that define their metrics in the same way share one plan.
//
// The total covers all rows, by the rule of each metric. For cgroups it covers only the topmost
// ones, because the values of a cgroup include those of its descendants. If a group has no rows for
// a sum that the capture measures, the sum is zero, as in a comparison of runs.
//
// See also: tools/ctprof/fleet formats the text, tools/fleet is the index.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/run_figures.hpp"
#include "core/compare/report/screen.hpp"
#include "core/compare/request/spec.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

class CapturePlan {
 public:
  // The error reports that the capture does not have the axis of `spec`.
  static Result<CapturePlan> make(const Snapshot& capture, const Spec& spec,
                                  const PluginDefinitions& plugin_definitions);
  // Returns whether another capture would have the same plan.
  bool is_valid_for(const Snapshot& capture) const;

  const Spec& spec() const { return spec_; }
  // The metrics of groups, and the metrics of cgroups, for which only some axes have groups.
  const MetricPlan& metrics() const { return metrics_; }
  const MetricPlan& cgroup_metrics() const { return cgroup_metrics_; }
  // A metric with a number: its plan and its index there. Metrics of cgroups are in
  // cgroup_metrics().
  struct NumericMetric {
    bool is_of_cgroups;
    std::size_t metric;
  };
  std::span<const NumericMetric> numeric_metrics() const { return numeric_metrics_; }
  const PlannedMetric& planned_metric(const NumericMetric& one) const {
    return (one.is_of_cgroups ? cgroup_metrics_ : metrics_).metrics[one.metric];
  }
  // Returns the columns of the first screen in its order, as indices in metrics().
  std::span<const std::size_t> headlines() const { return headlines_; }
  // Returns the newtype of a metric with a column; empty for other metrics.
  const std::string& newtype(const PlannedMetric& metric) const;

 private:
  using Definitions = std::vector<SharedMetric>;
  static Definitions definitions_of(const Snapshot& capture);
  bool is_cheap_for(const Snapshot& capture) const;

  Spec spec_;
  MetricPlan metrics_, cgroup_metrics_;
  std::vector<NumericMetric> numeric_metrics_;
  std::vector<std::size_t> headlines_;
  Definitions definitions_;
  std::vector<DerivedDef> derived_;
  std::size_t derived_bytes_ = 0;  // total length of the derived expressions
  bool is_window_ = false, is_reusable_ = false;
};

class CaptureFigures {
 public:
  // REQUIRES: a window already contains differences; the plan fits the capture, and outlives this
  // object.
  CaptureFigures(const Snapshot& capture, const CapturePlan& plan);

  // Names as in a report of only this capture; and patterns, by which groups of several captures
  // are joined, because they do not depend on other names in the capture.
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& patterns() const { return patterns_; }
  std::uint64_t threads(std::uint32_t group) const { return figures_->groups().threads[group]; }
  // Returns whether all threads of the group belong to the recording process.
  bool is_of_recorder(std::uint32_t group) const { return is_of_recorder_[group]; }
  // Returns no number for a gap. `metric` is an index in metrics().
  ctprof_number value(std::uint32_t group, std::size_t metric) const;

  ctprof_number total(const CapturePlan::NumericMetric& metric) const;
  Coverage coverage(const CapturePlan::NumericMetric& metric) const;
  // Returns the number of metrics without values, because they exceed the allowance of the file.
  std::size_t omitted_metrics() const { return omitted_metrics_; }

 private:
  std::uint32_t total_group(const PlannedMetric& metric) const;
  void reduce(const Snapshot& capture, RowGroups rows, const RunStackNumbers& nodes);
  void reduce_cgroups(const Snapshot& capture, const RunStackNumbers& nodes);

  const CapturePlan* plan_;
  std::optional<RunFigures> figures_, cgroup_figures_;
  std::vector<std::string> names_, patterns_;
  std::vector<bool> is_of_recorder_;
  std::size_t omitted_metrics_ = 0;
};

}  // namespace ctprof

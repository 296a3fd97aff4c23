// A report: what show and compare found, in the order in which it is to be told.
//
// One snapshot gives a report of values (show), two one of differences (compare). Rows of a section
// are (group, metric) pairs; what a row says is asked of `rollup` and `changes`. Groups that only
// one side has stand apart, with the metrics in which they weigh most. A report refers to the
// snapshots that it is about and must not outlive them.
//
// What is here:   the whole of show and compare, as data.
// What is not:    text and JSON (render/).

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/compare/asked/spec.hpp"
#include "core/compare/figures/busiest.hpp"
#include "core/compare/figures/change.hpp"
#include "core/compare/figures/lives.hpp"
#include "core/compare/figures/members.hpp"
#include "core/compare/figures/metric_plan.hpp"
#include "core/compare/figures/origin.hpp"
#include "core/compare/figures/rates.hpp"
#include "core/compare/figures/rollup.hpp"
#include "core/compare/grouping/grouping.hpp"
#include "core/compare/report/order.hpp"

namespace ctprof {

struct Section {
  std::string name;
  std::vector<RowAt> rows;
  std::size_t cut = 0;    // rows beyond the limit
  std::size_t still = 0;  // left out because nothing changed; under show because the value is zero
  std::size_t missing = 0;  // left out because no side has a value
};

// Groups that one side alone has, those with the largest share of any metric first.
struct OneSided {
  std::vector<std::uint32_t> groups;
  std::size_t cut = 0;
};

// Metrics that no row shows, because a side (or both) has no value of them at all.
struct Absent {
  std::size_t metric = 0;
  std::array<bool, kMostSides> on{};  // where it is absent
};

class Report {
 public:
  // REQUIRES: one snapshot or two.
  static Result<Report> make(std::span<const Snapshot* const> sides, const Spec& spec,
                             const Knowledge& knowledge);

  const Spec& spec() const { return whole_->spec; }
  std::span<const Snapshot* const> sides() const { return whole_->sides; }
  const Grouping& grouping() const { return whole_->grouping; }
  const std::vector<PlannedMetric>& metrics() const { return whole_->plan.metrics; }
  const Rollup& rollup() const { return whole_->rollup; }
  // REQUIRES: two sides.
  const Changes& changes() const { return whole_->changes; }
  // Which threads both sides have; known of two sides of one boot.
  const Lives& lives() const { return whole_->lives; }
  const Origins& origins() const { return whole_->origins; }
  const Rates& rates() const { return whole_->rates; }
  std::optional<Busiest> busiest(CellAt at) const;
  const std::vector<std::string>& notes() const { return whole_->plan.notes; }

  const std::vector<Section>& sections() const { return sections_; }
  const OneSided& only(std::size_t side) const { return only_[side]; }
  const std::vector<Absent>& absent() const { return absent_; }
  // The rows that --fail-on picks out, whatever else is shown; of all sections together.
  const Section& failed() const { return failed_; }
  // Whether --fail-on picks the row out, also beyond the limit.
  bool fails(RowAt row) const;

  // The metrics of one group on one side that have a value, by their share of the metric's total,
  // the largest first.
  std::vector<std::uint32_t> weightiest(std::size_t side, std::uint32_t group) const;

 private:
  // What rows refer to, at an address that stays.
  struct Whole {
    Whole(std::span<const Snapshot* const> given, const Spec& wanted, MetricPlan metrics,
          Grouping groups);
    std::vector<const Snapshot*> sides;
    Spec spec;
    Grouping grouping;
    MetricPlan plan;
    Rollup rollup;
    Changes changes;
    Order order;
    std::vector<Members> members;  // of the threads, by side
    Lives lives;
    Origins origins;
    Rates rates;
  };

  explicit Report(std::unique_ptr<Whole> whole);
  void find_absent();
  void find_one_sided();
  void find_failed();
  void fill_section(Section& section, std::span<const std::uint32_t> those) const;
  void take_value(Section& section, RowAt row, std::vector<RankedRow>& taken) const;
  void take_row(Section& section, RowAt row, std::vector<RankedRow>& taken) const;

  std::unique_ptr<Whole> whole_;
  std::vector<Section> sections_;
  std::array<OneSided, kMostSides> only_;
  std::vector<Absent> absent_;
  std::vector<bool> is_absent_;  // by metric
  Section failed_;
  std::vector<RowAt> failing_;  // all of them, by group and metric
};

}  // namespace ctprof

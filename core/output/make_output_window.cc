#include "core/output/make_output_window.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/number.hpp"
#include "core/output/describe_window.hpp"
#include "core/registry/map_labels.hpp"
#include "core/tables/exported_groups.hpp"

namespace ctprof {
namespace {

bool is_number(const ctprof_number& number) {
  return has_value(number) && !(number.kind == CTPROF_NUMBER_F64 && !std::isfinite(number.f64));
}

// Makes one table: of the groups, or of the host.
class TableMaker {
 public:
  TableMaker(const Report& report, Entity entity) : report_(report), entity_(entity) {
    table_.label_names = get_label_names(report, entity);
  }

  // REQUIRES: the metric's groups have the same labels as those of the table's entity.
  void add_columns(std::size_t metric) {
    const PlannedMetric& planned = report_.metrics()[metric];
    if (!planned.is_map()) {
      columns_[{metric, ""}] = table_.metrics.size();
      table_.metrics.push_back(define(planned, "", planned.unit, planned.family == "cumulative",
                                      report_.rollup().is_per_second(metric)));
    } else {
      for (std::uint32_t group = 0; group < report_.grouping().count(planned.entity); ++group)
        report_.rollup().visit_map({0, group, metric},
                                   [&](const MapEntry& entry) { add_key(metric, entry); });
    }
    metrics_.push_back(metric);
  }

  OutputTable make() {
    for (std::uint32_t group = 0; group < report_.grouping().count(entity_); ++group)
      add_row(group);
    return std::move(table_);
  }

 private:
  static OutputMetric define(const PlannedMetric& metric, std::string_view key,
                             std::string_view unit, bool is_cumulative, bool is_per_second) {
    return {is_per_second   ? ctprof_output_metric_flags{CTPROF_OUTPUT_PER_SECOND}
            : is_cumulative ? ctprof_output_metric_flags{CTPROF_OUTPUT_INCREASE}
                            : ctprof_output_metric_flags{0},
            metric.name,
            std::string(key),
            std::string(unit),
            metric.family,
            std::string(name(metric.entity))};
  }

  void add_key(std::size_t metric, const MapEntry& entry) {
    const PlannedMetric& planned = report_.metrics()[metric];
    const auto [column, is_new] =
        columns_.try_emplace({metric, std::string(entry.key)}, table_.metrics.size());
    if (is_new)
      table_.metrics.push_back(define(planned, entry.key, entry.unit,
                                      planned.key_is_cumulative(entry.key),
                                      report_.rollup().is_key_per_second(metric, entry.key)));
    if (is_new) table_.metrics.back().key_labels = make_key_labels(planned, entry.key);
  }

  std::vector<OutputLabel> make_key_labels(const PlannedMetric& metric,
                                           std::string_view key) const {
    const auto names = get_key_label_names(metric, table_.label_names);
    const auto values = label_values(metric.labels, key);
    std::vector<OutputLabel> labels;
    for (std::size_t i = 0; i < names.size(); ++i) labels.push_back({names[i], values[i]});
    return labels;
  }

  void add_row(std::uint32_t group) {
    std::vector<ctprof_output_cell> cells(table_.metrics.size());
    for (const std::size_t metric : metrics_)
      if (group < report_.grouping().count(report_.metrics()[metric].entity))
        fill(group, metric, cells);
    const auto applies = [](const ctprof_output_cell& cell) {
      return cell.rows > 0 || has_value(cell.number);
    };
    if (std::ranges::none_of(cells, applies)) return;
    OutputRow row;
    for (const std::string_view label : get_label_values(report_, entity_, group))
      row.labels.emplace_back(label);
    row.labels.resize(table_.label_names.size());
    row.cells = std::move(cells);
    table_.rows.push_back(std::move(row));
  }

  void fill(std::uint32_t group, std::size_t metric, std::vector<ctprof_output_cell>& cells) {
    const CellPosition at{0, group, metric};
    const Coverage coverage = report_.rollup().coverage(at);
    const auto put = [&](std::string_view key, const ctprof_number& number) {
      const auto column = columns_.find({metric, std::string(key)});
      if (column == columns_.end()) return;
      cells[column->second] = {is_number(number) ? number : no_number(), coverage.values,
                               coverage.rows};
    };
    if (!report_.metrics()[metric].is_map()) return put("", report_.rollup().read(at).number);
    if (coverage.values == 0) return put_gaps(metric, coverage.rows, cells);
    report_.rollup().visit_map(at, [&](const MapEntry& entry) { put(entry.key, entry.number); });
  }

  // Marks all keys of a map that could not be read.
  void put_gaps(std::size_t metric, std::uint64_t rows, std::vector<ctprof_output_cell>& cells) {
    for (auto it = columns_.lower_bound({metric, ""});
         it != columns_.end() && it->first.first == metric; ++it)
      cells[it->second] = {no_number(), 0, rows};
  }

  const Report& report_;
  Entity entity_;
  OutputTable table_;
  std::vector<std::size_t> metrics_;                                    // indices in the plan
  std::map<std::pair<std::size_t, std::string>, std::size_t> columns_;  // by metric and key
};

// A snapshot has no window in which a counter could increase.
void clear_increases(OutputTable& table) {
  for (OutputMetric& metric : table.metrics)
    metric.flags &= ~ctprof_output_metric_flags{CTPROF_OUTPUT_INCREASE};
}

std::size_t count_values(const OutputRow& row) {
  return static_cast<std::size_t>(std::ranges::count_if(
      row.cells, [](const ctprof_output_cell& cell) { return has_value(cell.number); }));
}

// Returns the largest share of each row in the total of any metric.
std::vector<double> compute_shares(const OutputTable& table) {
  std::vector<double> shares(table.rows.size());
  for (std::size_t column = 0; column < table.metrics.size(); ++column) {
    const auto weight = [&](const OutputRow& row) {
      const double value = as_double(row.cells[column].number);
      return std::isfinite(value) ? std::abs(value) : 0;
    };
    double total = 0;
    for (const OutputRow& row : table.rows) total += weight(row);
    for (std::size_t row = 0; total > 0 && row < shares.size(); ++row)
      shares[row] = std::max(shares[row], weight(table.rows[row]) / total);
  }
  return shares;
}

// Removes the rows with the smallest shares until at most `max_values` values remain. Rows without
// labels stay.
void limit_rows(OutputWindow& window, std::size_t max_values) {
  std::size_t values = 0;
  for (const OutputTable& table : window.tables)
    for (const OutputRow& row : table.rows) values += count_values(row);
  for (OutputTable& table : window.tables) {
    if (table.label_names.empty() || values <= max_values) continue;
    const std::vector<double> shares = compute_shares(table);
    std::vector<std::size_t> order(shares.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t row) { return shares[row]; });
    std::vector<bool> is_omitted(shares.size());
    for (std::size_t i = 0; i < order.size() && values > max_values; ++i) {
      is_omitted[order[i]] = true;
      values -= count_values(table.rows[order[i]]);
      ++window.omitted_rows;
    }
    std::size_t at = 0;
    std::erase_if(table.rows, [&](const OutputRow&) { return is_omitted[at++]; });
  }
}

}  // namespace

OutputWindow make_output_window(const Report& report, const OutputChoice& choice) {
  std::map<bool, TableMaker> makers;  // by whether the table is that of the host
  for (std::size_t metric = 0; metric < report.metrics().size(); ++metric) {
    const PlannedMetric& planned = report.metrics()[metric];
    if (!is_exported(report, planned, choice.all_metrics)) continue;
    if (!planned.is_map() && !planned.has_number() && !planned.counts_rows) continue;
    makers.try_emplace(planned.entity == Entity::Host, report, planned.entity)
        .first->second.add_columns(metric);
  }
  OutputWindow window;
  const RunFacts& run = report.sides().front();
  describe_window(run.meta, run.window ? std::optional(run.window->length_ns) : std::nullopt,
                  window);
  for (auto& [is_host, maker] : makers) {
    window.tables.push_back(maker.make());
    if ((window.flags & CTPROF_OUTPUT_SNAPSHOT) != 0) clear_increases(window.tables.back());
  }
  if (choice.max_values > 0) limit_rows(window, choice.max_values);
  return window;
}

}  // namespace ctprof

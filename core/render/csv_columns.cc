#include "core/render/csv_columns.hpp"

#include <set>
#include <string_view>
#include <utility>

#include "core/compare/request/spec.hpp"
#include "core/registry/map_labels.hpp"

namespace ctprof {

bool has_three_keys(const Report& report) { return report.spec().group_by == GroupBy::All; }

bool shows_window(const Report& report) {
  return !report.is_comparison() && report.sides().front().window.has_value();
}

bool has_failed_column(const Report& report) { return !report.spec().fail_on.empty(); }

std::vector<std::string> list_csv_labels(const Report& report) {
  std::set<std::string> labels;
  for (const PlannedMetric& metric : report.metrics())
    if (metric.is_shown)
      for (const std::string_view label : label_names(metric.labels)) labels.emplace(label);
  return {labels.begin(), labels.end()};
}

namespace {

// Calls each(suffix) for each candidate: "" for delta, "_2" for delta_2 and so on.
template <class Each>
void for_each_candidate(const Report& report, Each each) {
  for (std::size_t side = 1; side < report.sides().size(); ++side)
    each(side == 1 ? std::string() : "_" + std::to_string(side));
}

void add_columns_of_one(const Report& report, std::vector<std::string>& columns) {
  const auto add = [&](std::string name) { columns.push_back(std::move(name)); };
  add("value");
  if (shows_window(report)) add("change");
  add("text");
  if (has_several_runs(report)) add("runs");
  for (const char* name : {"threads", "values", "rows", "parts", "parts_of"}) add(name);
  if (has_failed_column(report)) add("failed");
}

void add_columns_of_sides(const Report& report, std::vector<std::string>& columns) {
  const auto add = [&](std::string name) { columns.push_back(std::move(name)); };
  for (std::size_t side = 0; side < report.sides().size(); ++side) add(side_name(side));
  for_each_candidate(report, [&](const std::string& suffix) {
    add("delta" + suffix);
    add("pct" + suffix);
  });
  for (std::size_t side = 0; side < report.sides().size(); ++side) add("text_" + side_name(side));
  for_each_candidate(report, [&](const std::string& suffix) { add("text_delta" + suffix); });
  for (std::size_t side = 0; report.shows_per_age() && side < report.sides().size(); ++side)
    add("per_life_" + side_name(side));
  for (std::size_t side = 0; has_several_runs(report) && side < report.sides().size(); ++side)
    add("runs_" + side_name(side));
  for (std::size_t side = 0; side < report.sides().size(); ++side)
    add("threads_" + side_name(side));
  for (std::size_t side = 0; side < report.sides().size(); ++side) {
    add("values_" + side_name(side));
    add("rows_" + side_name(side));
  }
  for (std::size_t side = 0; side < report.sides().size(); ++side) {
    add("parts_" + side_name(side));
    add("parts_of_" + side_name(side));
  }
  for_each_candidate(report, [&](const std::string& suffix) {
    for (const char* name :
         {"delta_alive", "delta_new", "delta_gone", "threads_alive", "threads_new", "threads_gone"})
      add(name + suffix);
    if (report.spec().rate) add("rate" + suffix);
    for (const char* name : {"shift", "low", "high", "p", "proven"})
      if (report.families().can_test()) add(name + suffix);
  });
  if (has_failed_column(report)) add("failed");
}

}  // namespace

std::vector<std::string> list_csv_columns(const Report& report) {
  std::vector<std::string> columns;
  const auto add = [&](std::string name) { columns.push_back(std::move(name)); };
  if (report.is_comparison()) add("side");
  add("section");
  for (const char* key :
       has_three_keys(report) ? std::vector{"cgroup", "pcomm", "comm"} : std::vector{"group"})
    add(key);
  for (const char* name : {"metric", "key", "unit"}) add(name);
  if (report.rollup().shows_rates()) add("per_second");
  if (report.is_comparison())
    add_columns_of_sides(report, columns);
  else
    add_columns_of_one(report, columns);
  for (const std::string& label : list_csv_labels(report)) add("label." + label);
  return columns;
}

}  // namespace ctprof

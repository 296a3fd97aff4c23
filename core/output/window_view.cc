#include "core/output/window_view.hpp"

namespace ctprof {
namespace {

template <class Item>
ctprof_array array_of(const std::vector<Item>& items) {
  return {items.data(), static_cast<std::uint32_t>(items.size()), sizeof(Item)};
}

}  // namespace

ctprof_output_metric WindowView::make_metric(const OutputMetric& metric) {
  ctprof_output_metric view{.size = sizeof(ctprof_output_metric),
                            .flags = metric.flags,
                            .name = metric.name.c_str(),
                            .key = metric.key.c_str(),
                            .unit = metric.unit.c_str(),
                            .family = metric.family.c_str(),
                            .entity = metric.entity.c_str()};
  if (metric.key_labels.empty()) return view;
  auto& labels = key_labels_.emplace_back();
  for (const auto& [name, value] : metric.key_labels)
    labels.push_back({name.c_str(), {value.data(), value.size()}});
  view.key_labels = array_of(labels);
  return view;
}

ctprof_output_table WindowView::make_table(const OutputTable& table) {
  auto& names = label_names_.emplace_back();
  for (const std::string& name : table.label_names) names.push_back(name.c_str());
  auto& metrics = metrics_.emplace_back();
  for (const OutputMetric& metric : table.metrics) metrics.push_back(make_metric(metric));
  auto& rows = rows_.emplace_back();
  for (const OutputRow& row : table.rows) {
    auto& labels = labels_.emplace_back();
    for (const std::string& label : row.labels) labels.push_back({label.data(), label.size()});
    rows.push_back({sizeof(ctprof_output_row), 0, array_of(labels), array_of(row.cells)});
  }
  return {sizeof(ctprof_output_table), 0, array_of(names), array_of(metrics), array_of(rows)};
}

WindowView::WindowView(const OutputWindow& window) {
  for (const OutputTable& table : window.tables) tables_.push_back(make_table(table));
  view_ = {.size = sizeof view_,
           .flags = window.flags,
           .start_ns = window.start_ns,
           .end_ns = window.end_ns,
           .length_ns = window.length_ns,
           .dropped_before = window.dropped_before,
           .omitted_rows = window.omitted_rows,
           .user_hz = window.user_hz,
           .reserved = 0,
           .host = window.host.c_str(),
           .producer = window.producer.c_str(),
           .tables = array_of(tables_)};
}

}  // namespace ctprof

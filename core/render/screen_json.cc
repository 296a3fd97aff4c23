#include "core/render/screen_json.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "core/render/findings_text.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kShownWords[] = {"percent", "rate", "level"};

template <class Items, class Write>
void write_array(JsonBuilder& json, std::string_view name, const Items& items, Write write) {
  json.key(name);
  json.open('[');
  for (const auto& item : items) write(item);
  json.close(']');
}

void write_number(JsonBuilder& json, std::string_view name, double number) {
  json.key(name);
  json.number(number);
}

void write_column(JsonBuilder& json, const ScreenColumn& column, const PlannedMetric& metric) {
  json.open_item();
  json.text_member("label", column.headline.label);
  json.text_member("metric", metric.name);
  json.text_member("shown", kShownWords[column.headline.shown]);
  json.text_member("unit", metric.unit);
  json.flag_member("by_change", column.headline.orders_by_change);
  write_number(json, "floor", column.floor);
  write_array(json, "totals", column.totals, [&](double total) {
    json.comma();
    json.number(total);
  });
  write_number(json, "whole", column.weight.capacity);
  write_number(json, "most", column.weight.max_value);
  json.close('}');
}

void write_threads(JsonBuilder& json, const ScreenThreads& threads) {
  json.open_item();
  json.count_member("living", threads.living);
  json.count_member("born", threads.started);
  json.count_member("ended", threads.exited);
  json.close('}');
}

void write_figure(JsonBuilder& json, const ScreenFigure& figure, bool is_level) {
  json.open_item();
  write_number(json, "value", figure.value);
  json.key("change");
  is_level ? json.number(figure.change) : json.raw("null");
  const auto member = [&](std::string_view name, double RowTestResult::*part) {
    write_number(json, name, figure.test_result ? (*figure.test_result).*part : std::nan(""));
  };
  member("shift", &RowTestResult::shift);
  member("low", &RowTestResult::low);
  member("high", &RowTestResult::high);
  member("p", &RowTestResult::p);
  member("p_alone", &RowTestResult::unadjusted_p);
  json.key("proven");
  json.raw(!figure.test_result ? "null" : figure.test_result->is_significant ? "true" : "false");
  json.close('}');
}

void write_row(JsonBuilder& json, const Report& report, const ScreenRow& row) {
  const Screen& screen = *report.screen();
  json.open_item();
  write_group(json, report.grouping().names[row.group]);
  write_number(json, "score", row.score);
  json.key("decided_by");
  row.score > 0 ? json.text(screen.columns[row.score_column].headline.label) : json.raw("null");
  write_array(json, "threads", row.threads,
              [&](const ScreenThreads& threads) { write_threads(json, threads); });
  json.flag_member("proven", row.is_significant);
  json.flag_member("new", row.is_new());
  json.flag_member("gone", row.has_disappeared());
  json.number_member("depth", row.depth);
  json.key("figures");
  json.open('[');
  for (std::size_t at = 0; at < screen.columns.size(); ++at) {
    json.comma();
    json.open('[');
    for (const ScreenFigure& figure : screen.figures(row, at))
      write_figure(json, figure, screen.columns[at].headline.shown == CTPROF_SHOWN_LEVEL);
    json.close(']');
  }
  json.close(']');
  json.close('}');
}

// Returns the rows within the limit of the report.
std::span<const ScreenRow> limit_rows(const Report& report, const std::vector<ScreenRow>& rows) {
  const std::size_t limit = report.spec().limit;
  return std::span(rows).first(limit ? std::min(limit, rows.size()) : rows.size());
}

void write_omitted(JsonBuilder& json, const Report& report) {
  const Screen& screen = *report.screen();
  json.key("left_out");
  json.open('{');
  json.number_member("rows", screen.rows.size() - limit_rows(report, screen.rows).size());
  if (report.spec().about)
    json.number_member("about_rows",
                       screen.about_rows.size() - limit_rows(report, screen.about_rows).size());
  json.number_member("quiet_groups", screen.quiet_groups);
  json.number_member("quiet_kernel_threads", screen.quiet_kernel_threads);
  json.number_member("own_threads", screen.own_threads);
  json.texts_member("headlines", screen.omitted_labels);
  json.close('}');
}

}  // namespace

void write_screen(JsonBuilder& json, const Report& report,
                  const std::function<bool()>& may_write_row) {
  const Screen& screen = *report.screen();
  const auto write_screen_row = [&](const ScreenRow& row) {
    if (may_write_row()) write_row(json, report, row);
  };
  json.key("screen");
  json.open('{');
  write_array(json, "headlines", screen.columns, [&](const ScreenColumn& column) {
    write_column(json, column, report.metrics()[column.metric]);
  });
  write_array(json, "rows", limit_rows(report, screen.rows), write_screen_row);
  if (report.spec().about)
    write_array(json, "about_rows", limit_rows(report, screen.about_rows), write_screen_row);
  write_findings(json, report);
  write_omitted(json, report);
  json.close('}');
}

}  // namespace ctprof

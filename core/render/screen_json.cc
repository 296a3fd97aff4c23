#include "core/render/screen_json.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/render/findings_text.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kShown[] = {"percent", "rate", "level"};

template <class Items, class Write>
void write_array(JsonPieces& json, std::string_view name, const Items& items, Write write) {
  json.key(name);
  json.open('[');
  for (const auto& item : items) write(item);
  json.close(']');
}

void write_number(JsonPieces& json, std::string_view name, double number) {
  json.key(name);
  json.number(number);
}

void write_column(JsonPieces& json, const ScreenColumn& column, const PlannedMetric& metric) {
  json.open_item();
  json.text_member("label", column.headline.label);
  json.text_member("metric", metric.name);
  json.text_member("shown", kShown[column.headline.shown]);
  json.text_member("unit", metric.unit);
  json.flag_member("by_change", column.headline.by_change);
  write_number(json, "floor", column.floor);
  write_array(json, "totals", column.totals, [&](double total) {
    json.comma();
    json.number(total);
  });
  write_number(json, "whole", column.weight.whole);
  write_number(json, "most", column.weight.most);
  json.close('}');
}

void write_threads(JsonPieces& json, const ScreenThreads& threads) {
  json.open_item();
  json.count_member("living", threads.living);
  json.count_member("born", threads.born);
  json.count_member("ended", threads.ended);
  json.close('}');
}

void write_figure(JsonPieces& json, const ScreenFigure& figure, bool is_level) {
  json.open_item();
  write_number(json, "value", figure.value);
  json.key("change");
  is_level ? json.number(figure.change) : json.raw("null");
  const auto member = [&](std::string_view name, double Proof::*part) {
    write_number(json, name, figure.proof ? (*figure.proof).*part : std::nan(""));
  };
  member("shift", &Proof::shift);
  member("low", &Proof::low);
  member("high", &Proof::high);
  member("p", &Proof::p);
  member("p_alone", &Proof::p_alone);
  json.key("proven");
  json.raw(!figure.proof ? "null" : figure.proof->proven ? "true" : "false");
  json.close('}');
}

void write_row(JsonPieces& json, const Report& report, const ScreenRow& row) {
  const Screen& screen = *report.screen();
  json.open_item();
  write_group(json, report.grouping().names[row.group]);
  write_number(json, "score", row.score);
  json.key("decided_by");
  row.score > 0 ? json.text(screen.columns[row.decided_by].headline.label) : json.raw("null");
  write_array(json, "threads", row.threads,
              [&](const ScreenThreads& threads) { write_threads(json, threads); });
  json.flag_member("proven", row.is_proven);
  json.flag_member("new", row.is_new());
  json.flag_member("gone", row.is_gone());
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

void write_left_out(JsonPieces& json, const Screen& screen, std::size_t cut) {
  json.key("left_out");
  json.open('{');
  json.number_member("rows", cut);
  json.number_member("quiet_groups", screen.quiet_groups);
  json.number_member("quiet_kernel_threads", screen.quiet_kernel_threads);
  json.number_member("own_threads", screen.own_threads);
  json.texts_member("headlines", screen.no_place);
  json.close('}');
}

}  // namespace

void write_screen(JsonPieces& json, const Report& report, const std::function<bool()>& has_room) {
  const Screen& screen = *report.screen();
  const std::size_t limit = report.spec().limit;
  const std::size_t told = limit ? std::min(limit, screen.rows.size()) : screen.rows.size();
  json.key("screen");
  json.open('{');
  write_array(json, "headlines", screen.columns, [&](const ScreenColumn& column) {
    write_column(json, column, report.metrics()[column.metric]);
  });
  write_array(json, "rows", std::span(screen.rows).first(told), [&](const ScreenRow& row) {
    if (has_room()) write_row(json, report, row);
  });
  if (report.spec().about)
    write_array(json, "about_rows", std::span(screen.about_rows), [&](const ScreenRow& row) {
      if (has_room()) write_row(json, report, row);
    });
  write_findings(json, report);
  write_left_out(json, screen, screen.rows.size() - told);
  json.close('}');
}

}  // namespace ctprof

// Rows of a report as objects of JSON (report_json.hpp says their members).

#pragma once

#include <string_view>

#include "core/compare/report/rows.hpp"
#include "core/render/json_pieces.hpp"

namespace ctprof {

// Shares are kept in hundredths of a percent and told to programs in percent.
std::string_view unit_told(std::string_view unit);

// A name, or under `all` an array of three, as the member `group`.
void write_group(JsonPieces& json, std::string_view group);

// A row with a metric: of one side its value, of several what lies between.
void write_metric_row(JsonPieces& json, const Report& report, const ReportRow& row);

// A figure of a group that one side alone has.
void write_figure(JsonPieces& json, const Report& report, const ReportRow& row);

void write_rename(JsonPieces& json, const CgroupRename& rename);

}  // namespace ctprof

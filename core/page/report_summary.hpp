// Summarizes a report in three sentences of figures, without a judgement of good or bad.
//
//   Of 93 figures of 12 groups, 4 differ significantly (p at most 0.05).
//   The largest change is %CPU of worker: 30.1 → 36.2 (+20%, between +17% and
//   +23%, p 0.0002); the next ...
//   These are medians of 8 runs before and 8 runs after. The host's CPUs were busy ...

#pragma once

#include <string>
#include <vector>

#include "core/compare/report/report.hpp"
#include "core/page/page_rows.hpp"

namespace ctprof {

// Returns printable text, which may contain markup. REQUIRES: one side, or two.
std::vector<std::string> summarize_report(const Report& report, const PageRows& rows);

// Returns text such as "+20.3 %"; "-" if it is unknown.
std::string format_spaced_percent(double fraction);
// Returns the change of a row as the tables show it: "+20.3 %", "new" or "gone". A change that is
// not significant has a "~" before it.
std::string format_page_change(const PageRow& row);
// Returns text such as "+17% to +23%".
std::string format_interval(const RowTestResult& test_result);

}  // namespace ctprof

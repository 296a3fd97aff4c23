// Describes the significance of differences in words: of a row, and of a comparison.
//
// See also: compare/evidence (the tests), screen_table.hpp and report_lines.hpp (the tables),
// evidence_json.hpp.

#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/compare/evidence/evidence.hpp"
#include "core/compare/report/report.hpp"

namespace ctprof {

// Marks a difference that is not significant.
inline constexpr std::string_view kNotSignificant = "~";

// Returns text such as "+20%", "-3.1%" or "x12".
std::string format_shift(double shift);
// Returns "+20% (+15 to +24)"; without the interval if it has no bound.
std::string format_shift(const RowTestResult& test_result);
// Returns a bound of the interval, as a percentage or as a factor like the shift: "+15%", "x12".
std::string format_bound(const RowTestResult& proof, double bound);
// Returns text such as "0.0078".
std::string format_p(double p);

// Returns a sentence for each candidate about the tested rows and the method: for the first screen,
// otherwise for the tables of details. Empty if nothing was tested.
std::string describe_evidence(const Report& report, bool is_for_screen, std::size_t width);
// The same for the groups of --about, which are a family of their own.
std::string describe_about_evidence(const Report& report, std::size_t width);

// Returns a sentence if all runs of the side were taken before or after those of the baseline.
std::string describe_run_order(const Report& report, std::size_t side);
// Returns a note if a side has a single window, which cannot be tested.
std::string describe_single_runs(const Report& report, std::size_t width);
// Returns a note if sides that can be tested were taken one side after the other.
std::string format_order_notes(const Report& report, std::size_t width);

}  // namespace ctprof

// How sure differences are, in words: of a row, and of a comparison as a whole.
//
// Not here: how they are judged (compare/evidence), where in a table it stands (screen_table,
// report_lines), JSON (evidence_json).

#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/compare/evidence/evidence.hpp"
#include "core/compare/report/report.hpp"

namespace ctprof {

// What stands where a difference is not proven.
inline constexpr std::string_view kNotProven = "~";

// "+20%", "-3.1%", "x12".
std::string shift_text(double shift);
// "+20% (+15 to +24)"; without the interval where that has no bound.
std::string shift_text(const Proof& proof);
// An end of its interval, in percent or as a factor as the shift is: "+15%", "x12".
std::string end_text(const Proof& proof, double end);
// "0.0078"
std::string p_text(double p);

// What was judged and how, a sentence for each candidate: of the first screen, or else of the
// tables of details. Empty where nothing was.
std::string evidence_text(const Report& report, bool of_screen, std::size_t width);
// The same of the groups of --about, by their own family.
std::string about_text(const Report& report, std::size_t width);

// Where all runs of the side were taken before or after the baseline's: that, as a sentence.
std::string order_sentence(const Report& report, std::size_t side);
// A sentence where a side has a single window, or where all runs of one side were taken before the
// other's.
std::string order_text(const Report& report, std::size_t width);

}  // namespace ctprof

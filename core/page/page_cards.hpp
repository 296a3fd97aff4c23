// The first part of a report's page: the causes, then one card for each group, in the order of the
// first screen.
//
// A card has the figures of its group. Figures that are not significant are behind a switch that
// needs no script (<details>). Groups without a card are in the table of all rows.

#pragma once

#include <span>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/page/page_rows.hpp"
#include "core/render/findings_text.hpp"

namespace ctprof {

// Appends the findings of the first screen, each with the command that continues the investigation;
// nothing if there are none.
void append_causes(std::string& out, const Report& report, const CommandSource& source);

// Appends the cards of at most kMaxCards groups.
inline constexpr std::size_t kMaxCards = 20;
void append_cards(std::string& out, const Report& report, const PageRows& rows);

}  // namespace ctprof

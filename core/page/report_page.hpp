// A report as one HTML file: what it comes to, what differs between the sides, its rows to be
// sorted, filtered, opened and copied, call stacks as flame graphs, what was not measured or was
// lost, and the command that made it.
//
// Without a script it is a document that can be read and printed; the script (page.js, dots.js)
// reads its data back from there. Nothing is fetched, and a policy in the file forbids it. It is
// light or dark as its reader likes.
//
// Text comes from the same rows as text and JSON do. Names are text whatever is in them. A page has
// kMostReportPage bytes at most: rows beyond that are left out from the end, and counted.

#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/compare/report/report.hpp"

namespace ctprof {

inline constexpr std::size_t kMostReportPage = 3'000'000;

struct PageStyle {
  std::string command;   // that made it, for people
  bool details = false;  // every metric, also of windows
};

// `files`: a name for each side. REQUIRES: one side, or two.
std::string report_page(const Report& report, std::span<const std::string> files,
                        const PageStyle& style);

}  // namespace ctprof

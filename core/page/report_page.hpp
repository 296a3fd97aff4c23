// Writes a report as one HTML file: the causes, a summary, a card for each group, the differences
// between the sides, rows that can be sorted, filtered, opened and copied, call stacks as flame
// graphs, missing metrics, lost data, and the command that made the file.
//
// Without scripts, it can be read and printed; the script (page.js, dots.js) reads its data from
// the document. Nothing is loaded, and a policy in the file forbids it. It uses the light or dark
// colours that the reader prefers.
//
// The data comes from the same rows as text and JSON. Names may be hostile and are escaped. A page
// has at most kMaxReportPageSize bytes: the last rows beyond the limit are omitted and counted.

#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/compare/report/report.hpp"

namespace ctprof {

inline constexpr std::size_t kMaxReportPageSize = 3'000'000;

struct PageStyle {
  std::string command;         // the command that made the page, for display
  bool shows_details = false;  // every metric, also for windows
  // The command that records where threads wait; empty: none.
  std::string record_command{};
  // The command that shows the report on a terminal; empty: it has the names of the files.
  std::string show_command{};
};

// `files`: a name for each side. REQUIRES: one side, or two.
std::string make_report_page(const Report& report, std::span<const std::string> files,
                             const PageStyle& style);

}  // namespace ctprof

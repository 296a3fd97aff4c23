// Formats the opening of a report of a window as text and JSON: its length, started and exited
// threads, the CPU time, and the settings that changed.
//
// See also: report_lines, row_json (the rows).

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/figures/run_facts.hpp"
#include "core/render/row_json.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// All functions REQUIRE run.window. `file` is the name as typed by the user.
std::string format_window_heading(const RunFacts& run, std::string_view file,
                                  const TextLayout& layout);
// The same for the first screen: the file, the CPU time, and events of the host. `side_label`
// precedes it if several windows are shown: "baseline", or empty.
std::string format_window_opening(const RunFacts& run, std::string_view side_label,
                                  std::string_view file, const TextLayout& layout);
// Return the parts of that opening: the first line, and the sentences after the figures of the
// host.
std::string format_window_line(const RunFacts& run, std::string_view file);
std::vector<std::string> list_window_remarks(const RunFacts& run);
// Returns "settings that changed: worker/{N} cpu_affinity 0-1 → 1; ...", wrapped; empty if none
// did.
std::string format_setting_changes(const WindowFacts& window, std::size_t width);
// The opening in few lines, for one of several windows: the CPU time, missing data, and events of
// the host. Each line begins with `side_label`.
std::string format_window_summary(const RunFacts& run, const std::string& side_label,
                                  std::size_t width, bool shows_cpu = true);
// Returns "CPU 85 % of 200 %: 25 % by living threads, ...". REQUIRES: window.accounting.
std::string describe_accounting(const WindowFacts& window);
// Returns whether threads account for all CPU time of the window, within the error.
bool is_accounted(const RunFacts& run);
// Returns "baseline: CPU 180 to 199 % of 200 %, accounted for by threads in 5 of 6 runs" for the
// runs whose CPU time threads account for; empty if there are none.
std::string format_accounted_runs(std::span<const RunFacts> runs, const std::string& side_label,
                                  std::size_t width);
// Returns text such as "10.0 s".
std::string format_window_length(const RunFacts& run);
// Writes the member `window`; report_json.hpp describes its members.
void write_window(JsonBuilder& json, const RunFacts& run);

}  // namespace ctprof

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
std::string window_heading(const RunFacts& run, std::string_view file, const TextLayout& layout);
// The same for the first screen: the file, the CPU time, and events of the host. `who` precedes it
// if several windows are shown: "baseline", or empty.
std::string window_opening(const RunFacts& run, std::string_view who, std::string_view file,
                           const TextLayout& layout);
// Return the parts of that opening: the first line, and the sentences after the figures of the
// host.
std::string window_line(const RunFacts& run, std::string_view file);
std::vector<std::string> window_remarks(const RunFacts& run);
// Returns "settings that changed: worker/{N} cpu_affinity 0-1 → 1; ...", wrapped; empty if none
// did.
std::string settings_sentence(const WindowFacts& window, std::size_t width);
// The opening in few lines, for one of several windows: the CPU time, missing data, and events of
// the host. Each line begins with `who`.
std::string window_in_short(const RunFacts& run, const std::string& who, std::size_t width,
                            bool with_cpu = true);
// Returns whether threads account for all CPU time of the window, within the error.
bool is_explained(const RunFacts& run);
// Returns "baseline: CPU 180 to 199 % of 200 %, explained by threads in 5 of 6 runs" for the runs
// whose CPU time threads account for; empty if there are none.
std::string explained_in_short(std::span<const RunFacts> runs, const std::string& who,
                               std::size_t width);
// Returns for example "10.0 s".
std::string window_length(const RunFacts& run);
// Writes the member `window`; report_json.hpp describes its members.
void write_window(JsonPieces& json, const RunFacts& run);

}  // namespace ctprof

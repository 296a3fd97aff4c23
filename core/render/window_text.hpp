// What a report of a window begins with: how long it was, who came and went, who used the CPUs, and
// which settings changed. For people and for programs.
//
// Not here: the rows (report_lines, row_json).

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/compare/figures/run_facts.hpp"
#include "core/render/row_json.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// All REQUIRE run.window. `file` is what the user called it.
std::string window_heading(const RunFacts& run, std::string_view file, const TextLayout& layout);
// The same for the first screen: what was read, who used the CPUs, and what happened to the host.
// `who` stands before it where several windows are told: "baseline", or nothing.
std::string window_opening(const RunFacts& run, std::string_view who, std::string_view file,
                           const TextLayout& layout);
// The parts of that opening: its first line, and the sentences after the figures of the host.
std::string window_line(const RunFacts& run, std::string_view file);
std::vector<std::string> window_remarks(const RunFacts& run);
// "settings that changed: worker/{N} cpu_affinity 0-1 → 1; ...", in lines; empty if none did.
std::string settings_sentence(const WindowFacts& window, std::size_t width);
// The same in few lines, for one of several windows that are told together: whose CPU time it was,
// what is not known, and what happened to the host. Each begins with `who`.
std::string window_in_short(const RunFacts& run, const std::string& who, std::size_t width,
                            bool with_cpu = true);
// Whether the window's CPU time was that of its threads, as exactly as it can be counted.
bool is_explained(const RunFacts& run);
// "baseline: CPU 180 to 199 % of 200 %, explained by threads in 5 of 6 runs": those of which it
// was; empty if it was of none.
std::string explained_in_short(std::span<const RunFacts> runs, const std::string& who,
                               std::size_t width);
// "10.0 s"
std::string window_length(const RunFacts& run);
// Writes the member `window`; its members are those of report_json.hpp.
void write_window(JsonPieces& json, const RunFacts& run);

}  // namespace ctprof

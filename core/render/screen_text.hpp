// Formats the first screen as text: the opening lines of a window, the rows and columns that fit,
// and a few lines about omitted data.
//
// See also: screen_table.hpp (the table), compare/report/screen.hpp (the data), screen_json.hpp.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/compare/report/report.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

struct ScreenLayout {
  TextLayout text;
  std::size_t lines = 0;              // of the terminal, or its replacement
  std::optional<std::size_t> rows{};  // fixed number of rows, independent of the lines; 0: all
  std::string record_command{};       // the command that records where threads wait
  std::string command{};              // shows the report again; empty: made of the names of files
};

// REQUIRES: report.screen().
std::string format_screen(const Report& report, std::span<const std::string> files,
                          const ScreenLayout& layout);

// Returns the lines above the findings: the windows, the use of the host's CPUs and memory, and how
// the hosts of several sides differ. REQUIRES: windows.
std::string format_screen_opening(const Report& report, std::span<const std::string> files,
                                  const TextLayout& layout);

// Returns settings that differ between the windows, of groups on the screen and of the host, such
// as "worker/{N} cpu_affinity 0-1 → 1". REQUIRES: report.screen().
std::vector<std::string> find_setting_differences(const Report& report);

}  // namespace ctprof

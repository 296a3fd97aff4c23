// The first screen as text: what a window begins with, the rows and columns that fit, and a few
// lines of what is not there.
//
// Not here: the table (screen_table.hpp), the screen as data (compare/report/screen.hpp), its JSON
// (screen_json.hpp).

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
  std::size_t lines = 0;              // of the terminal, or of what stands for one
  std::optional<std::size_t> rows{};  // as many as these, whatever the lines; 0: all
  std::string record_waits{};         // the command that records where threads wait
};

// REQUIRES: report.screen().
std::string screen_text(const Report& report, std::span<const std::string> files,
                        const ScreenLayout& layout);

// "worker/{N} cpu_affinity 0-1 → 1": settings of groups on the screen, and of the host, that differ
// between the windows. REQUIRES: the same.
std::vector<std::string> settings_between(const Report& report);

}  // namespace ctprof

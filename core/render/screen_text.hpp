// The first screen as text: what a window begins with, the rows and columns that fit, and a few
// lines of what is not there.
//
// A row is a group with its threads and a figure of each headline; of several windows each figure
// is told as "12.3→45.6", and a column of its own names the headline that moved most. The columns
// that decided which row comes first are the last to go for width; one that went is named.
//
// Not here: the screen as data (compare/report/screen.hpp), its JSON (screen_json.hpp).

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

struct ScreenLayout {
  TextLayout text;
  std::size_t lines = 0;              // of the terminal, or of what stands for one
  std::optional<std::size_t> rows{};  // as many as these, whatever the lines; 0: all
};

// REQUIRES: report.screen().
std::string screen_text(const Report& report, std::span<const std::string> files,
                        const ScreenLayout& layout);

}  // namespace ctprof

// A table of text: no borders, two blanks between columns, as wide as it needs to be and the
// terminal allows.
//
// When it is too wide, columns that may go leave, one after another, and columns that may shrink
// lose the middle of their longest cells, until it fits. A column that may do neither is never cut,
// so that no figure is. Wrapped, a table loses nothing at all: what is too long for its column goes
// on below.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ctprof {

enum class Align : std::uint8_t { Left, Right };

// Colours say nothing that the text does not say.
enum class Tint : std::uint8_t { Plain, Heading, More, Less, MuchMore, MuchLess };

// The text in a colour, or as it is.
std::string tinted(std::string_view text, Tint tint, bool color);

struct TextColumn {
  std::string header;
  Align align = Align::Left;
  std::size_t least = 0;  // may shrink to this; 0: may not
  bool may_go = false;
};

struct TextCell {
  std::string text;  // REQUIRES: printable (render/printable.hpp)
  Tint tint = Tint::Plain;
};

// What the text is for.
struct TextLayout {
  std::size_t width = 0;  // of the terminal; 0: any
  bool color = false;
  bool wrap = false;  // cells that are too long go on in the next line, rather than losing their
                      // middle; all columns stay
};

class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}

  // REQUIRES: a cell for each column.
  void add(std::vector<TextCell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }

  void append_to(std::string& out, const TextLayout& layout) const;

 private:
  struct Fitted {
    std::vector<std::size_t> widths;
    std::vector<bool> shown;
  };
  std::vector<std::size_t> natural_widths() const;
  Fitted fit(const TextLayout& layout) const;
  void append_row(std::string& out, const std::vector<TextCell>& row, const Fitted& fitted,
                  const TextLayout& layout) const;
  void append_line(std::string& out, const std::vector<TextCell>& row, const Fitted& fitted,
                   bool color) const;

  std::vector<TextColumn> columns_;
  std::vector<std::vector<TextCell>> rows_;
};

}  // namespace ctprof

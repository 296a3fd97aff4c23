// Text that fits a terminal: names made safe to print, how wide text is, and tables.
//
// Whoever can name a thread can put an escape code there. Whatever would move the cursor, change
// colours, break a line, turn the direction of writing or be invisible is shown as an escape: "\n",
// "\x1b", "\u202e". Bytes that are not UTF-8 are shown as "\xff".

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ctprof {

// Blanks between the columns of a table.
inline constexpr std::size_t kColumnGap = 2;

// The name with escapes for whatever is not safe to print.
std::string printable(std::string_view name);

// The same for text of unknown length: one of more than `most` bytes loses its middle.
inline constexpr std::size_t kMostName = 1024, kMostNote = 8 * 1024, kMostValue = 16 * 1024;
std::string told_name(std::string_view name, std::size_t most = kMostName);

// The columns that the text takes: two for wide letters, none for combining marks. REQUIRES:
// printable text.
std::size_t display_width(std::string_view text);

// The text in at most `width` columns. An ellipsis replaces the middle of what is too long.
// REQUIRES: printable text.
std::string shortened(std::string_view text, std::size_t width);

// The text in pieces of at most `width` columns, broken after a blank or a slash if possible. At
// least one piece; no letter is lost. REQUIRES: printable text.
std::vector<std::string> folded(std::string_view text, std::size_t width);

// The text's words in lines of at most `width` columns (0: one line), all but the first indented.
// A word that is wider is folded. REQUIRES: printable text.
std::string wrapped(const std::string& text, std::size_t width);

enum class Align : std::uint8_t { Left, Right };

// Colours only repeat what the text says.
enum class Tint : std::uint8_t { Plain, Heading, Faint, More, Less, MuchMore, MuchLess };

// The text in colour, or unchanged.
std::string tinted(std::string_view text, Tint tint, bool color);

struct TextColumn {
  std::string header;
  Align align = Align::Left;
  std::size_t least = 0;  // it may shrink to this width; 0: it may not shrink
  bool may_go = false;    // it may be left out
};

struct TextCell {
  std::string text;  // REQUIRES: printable text
  Tint tint = Tint::Plain;
};

// How text is laid out.
struct TextLayout {
  std::size_t width = 0;  // of the terminal; 0: any
  bool color = false;
  bool wrap = false;  // long cells continue on the next line instead of losing their middle, and no
                      // column is left out
};

// A table: no borders, two blanks between columns, as wide as it needs to be and the terminal
// allows.
//
// If it is too wide, columns that may go are left out one by one, and columns that may shrink lose
// the middle of their longest cells, until it fits. A column that may do neither is never cut, so
// that no figure is.
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

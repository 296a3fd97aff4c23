// Formats text for a terminal: makes names safe to print, measures the width of text, and lays out
// tables.
//
// Any user who can name a thread can include escape codes. Characters that move the cursor, change
// colours, break a line, change the direction of writing or are invisible are shown as escapes:
// "\n", "\x1b", "\u202e". Bytes that are not UTF-8 are shown as "\xff".

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ctprof {

// Blanks between the columns of a table.
inline constexpr std::size_t kColumnGap = 2;

// Returns the name with escapes for all characters that are not safe to print.
std::string make_printable(std::string_view name);

// The same for text of unknown length: a text of more than `max_bytes` is shortened in the middle.
inline constexpr std::size_t kMaxNameBytes = 1024, kMaxNoteBytes = 8 * 1024,
                             kMaxValueBytes = 16 * 1024;
std::string make_printable_short(std::string_view name, std::size_t max_bytes = kMaxNameBytes);

// Returns the width of the text in terminal columns: two for wide letters, none for combining
// marks. REQUIRES: printable text.
std::size_t get_display_width(std::string_view text);

// Returns the text in at most `width` columns. An ellipsis replaces the middle of a longer text.
// REQUIRES: printable text.
std::string shorten(std::string_view text, std::size_t width);

// Splits the text into pieces of at most `width` columns, after a blank or a slash if possible.
// Returns at least one piece and keeps every letter. REQUIRES: printable text.
std::vector<std::string> fold(std::string_view text, std::size_t width);

// Wraps words to lines of at most `width` columns (0: one line); all lines but the first are
// indented. A wider word is split. REQUIRES: printable text.
std::string wrap_words(const std::string& text, std::size_t width);

enum class Align : std::uint8_t { Left, Right };

// Colours only repeat information that the text contains.
enum class Tint : std::uint8_t { Plain, Heading, Faint, More, Less, MuchMore, MuchLess };

// Returns the text in colour, or unchanged.
std::string apply_tint(std::string_view text, Tint tint, bool use_color);

struct TextColumn {
  std::string header;
  Align align = Align::Left;
  std::size_t min_width = 0;  // minimum width when the table shrinks; 0: the column keeps its width
  bool is_optional = false;   // the column may be omitted
};

struct TextCell {
  std::string text;  // REQUIRES: printable text
  Tint tint = Tint::Plain;
};

// The layout of text on a terminal.
struct TextLayout {
  std::size_t width = 0;  // of the terminal; 0: unlimited
  bool use_color = false;
  // Long cells continue on the next line instead of being shortened, and no column is omitted.
  bool wraps_cells = false;
};

// A table without borders, with two blanks between columns, as wide as its contents and the
// terminal allow.
//
// If it is too wide, optional columns are omitted one by one, and columns with a minimum width
// shorten their longest cells in the middle until the table fits. A column that is neither keeps
// its width, so numbers are never shortened.
class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}

  // REQUIRES: one cell per column.
  void add_row(std::vector<TextCell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }

  void append_to(std::string& out, const TextLayout& layout) const;

 private:
  struct FittedColumns {
    std::vector<std::size_t> widths;
    std::vector<bool> is_shown;
  };
  std::vector<std::size_t> get_natural_widths() const;
  FittedColumns fit_columns(const TextLayout& layout) const;
  void append_row(std::string& out, const std::vector<TextCell>& row, const FittedColumns& fitted,
                  const TextLayout& layout) const;
  void append_line(std::string& out, const std::vector<TextCell>& row, const FittedColumns& fitted,
                   bool use_color) const;

  std::vector<TextColumn> columns_;
  std::vector<std::vector<TextCell>> rows_;
};

}  // namespace ctprof

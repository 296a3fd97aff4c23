#include "core/render/terminal_text.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <sstream>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/render/width_ranges.hpp"

namespace ctprof {
namespace {

template <std::size_t N>
bool is_in(const CodePointRange (&ranges)[N], char32_t point) {
  const auto after = std::ranges::upper_bound(ranges, point, {}, &CodePointRange::first);
  return after != std::begin(ranges) && point <= std::prev(after)->last;
}

std::size_t get_width(char32_t point) {
  if (point < kZeroWidth[0].first) return 1;
  if (is_in(kZeroWidth, point)) return 0;
  return is_in(kWide, point) ? 2 : 1;
}

std::string format_hex(char32_t value, std::size_t digits) {
  std::string text(digits, '0');
  for (std::size_t at = digits; at-- > 0; value >>= 4) text[at] = "0123456789abcdef"[value & 0xf];
  return text;
}

std::string format_escape(char32_t point) {
  if (point == '\n') return "\\n";
  if (point == '\t') return "\\t";
  if (point == '\r') return "\\r";
  if (point < 0x80) return "\\x" + format_hex(point, 2);
  return point < 0x10000 ? "\\u" + format_hex(point, 4) : "\\U" + format_hex(point, 8);
}

// A letter with its combining marks.
struct Glyph {
  std::string_view bytes;
  std::size_t width;
};

std::vector<Glyph> split_glyphs(std::string_view text) {
  std::vector<Glyph> glyphs;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = first_code_point(text.substr(at));
    const std::size_t width = get_width(point.value);
    if (width == 0 && !glyphs.empty())
      glyphs.back().bytes = {glyphs.back().bytes.data(), glyphs.back().bytes.size() + point.bytes};
    else
      glyphs.push_back({text.substr(at, point.bytes), width});
    at += point.bytes;
  }
  return glyphs;
}

using GlyphIterator = std::vector<Glyph>::const_iterator;

std::size_t sum_widths(GlyphIterator first, GlyphIterator last) {
  return std::accumulate(first, last, std::size_t{},
                         [](std::size_t sum, const Glyph& glyph) { return sum + glyph.width; });
}

bool can_break_after(const Glyph& glyph) { return glyph.bytes == " " || glyph.bytes == "/"; }

std::string join_glyphs(GlyphIterator first, GlyphIterator last) {
  std::string text;
  std::for_each(first, last, [&](const Glyph& glyph) { text += glyph.bytes; });
  return text;
}

// Returns the first glyphs that fit into the width.
template <class Iterator>
std::vector<Glyph> take_fitting(Iterator first, Iterator last, std::size_t width) {
  std::vector<Glyph> taken;
  for (; first != last && first->width <= width; ++first) {
    width -= first->width;
    taken.push_back(*first);
  }
  return taken;
}

}  // namespace

std::string make_printable(std::string_view name) {
  std::string text;
  for (; !name.empty();) {
    const CodePoint point = first_code_point(name);
    if (!point.is_valid)
      text += "\\x" + format_hex(static_cast<unsigned char>(name.front()), 2);
    else if (!is_printable(point.value))
      text += format_escape(point.value);
    else
      text += name.substr(0, point.bytes);
    name.remove_prefix(point.bytes);
  }
  return text;
}

std::string make_printable_short(std::string_view name, std::size_t max_bytes) {
  if (name.size() <= max_bytes) return make_printable(name);
  return shorten(make_printable(name.substr(0, max_bytes)) +
                     make_printable(name.substr(name.size() - max_bytes)),
                 max_bytes);
}

std::size_t get_display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = first_code_point(text.substr(at));
    width += get_width(point.value);
    at += point.bytes;
  }
  return width;
}

std::string shorten(std::string_view text, std::size_t width) {
  if (get_display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  const auto glyphs = split_glyphs(text);
  const auto head = take_fitting(glyphs.begin(), glyphs.end(), width / 2);
  const auto tail = take_fitting(glyphs.rbegin(), glyphs.rend(), width - 1 - width / 2);
  std::string out;
  for (const Glyph& glyph : head) out += glyph.bytes;
  out += "…";
  std::for_each(tail.rbegin(), tail.rend(), [&](const Glyph& glyph) { out += glyph.bytes; });
  return out;
}

std::vector<std::string> fold(std::string_view text, std::size_t width) {
  std::vector<std::string> pieces;
  const auto glyphs = split_glyphs(text);
  auto at = glyphs.begin();
  for (std::size_t remaining_width = sum_widths(at, glyphs.end()); remaining_width > width;) {
    const auto fit_end =
        at + std::max<std::ptrdiff_t>(1, std::ssize(take_fitting(at, glyphs.end(), width)));
    auto end = fit_end;
    while (end != at && !can_break_after(*(end - 1))) --end;
    if (end == at) end = fit_end;
    pieces.push_back(join_glyphs(at, end));
    remaining_width -= sum_widths(at, end);
    at = end;
  }
  if (pieces.empty() || at != glyphs.end()) pieces.push_back(join_glyphs(at, glyphs.end()));
  return pieces;
}

namespace {

constexpr std::size_t kIndent = 2;

// Joins words to lines.
class LineBuilder {
 public:
  explicit LineBuilder(std::size_t width) : width_(width) {}

  void add(const std::string& word) {
    const std::size_t word_width = get_display_width(word);
    if (width_ > 0 && line_width_ > 0 && line_width_ + 1 + word_width > width_) {
      text_ += "\n" + std::string(kIndent, ' ');
      line_width_ = kIndent;
    } else if (line_width_ > 0) {
      text_ += ' ';
      ++line_width_;
    }
    text_ += word;
    line_width_ += word_width;
  }
  std::string take_text() && { return text_ + "\n"; }

 private:
  std::size_t width_, line_width_ = 0;
  std::string text_;
};

}  // namespace

std::string wrap_words(const std::string& text, std::size_t width) {
  std::istringstream words(text);
  LineBuilder lines(width);
  for (std::string word; words >> word;)
    if (width > kIndent)
      for (const std::string& piece : fold(word, width - kIndent)) lines.add(piece);
    else
      lines.add(word);
  return std::move(lines).take_text();
}

namespace {

// A wrapped cell that is narrower is unreadable. If the terminal is narrower still, it breaks the
// lines itself.
constexpr std::size_t kMinWrappedWidth = 6;

std::string_view get_color_code(Tint tint) {
  switch (tint) {
    case Tint::Heading: return "\x1b[36m";
    case Tint::Faint: return "\x1b[90m";
    case Tint::More: return "\x1b[33m";
    case Tint::Less: return "\x1b[35m";
    case Tint::MuchMore: return "\x1b[1;33m";
    case Tint::MuchLess: return "\x1b[1;35m";
    case Tint::Plain: break;
  }
  return {};
}

std::size_t get_total_width(const std::vector<std::size_t>& widths,
                            const std::vector<bool>& shown) {
  std::size_t sum = 0, count = 0;
  for (std::size_t i = 0; i < widths.size(); ++i)
    if (shown[i]) sum += widths[i], ++count;
  return sum + (count > 1 ? kColumnGap * (count - 1) : 0);
}

// Narrows step by step the column that is furthest above its minimum width.
void shrink(std::vector<std::size_t>& widths, const std::vector<std::size_t>& min_widths,
            const std::vector<bool>& shown, std::size_t width) {
  while (get_total_width(widths, shown) > width) {
    const auto get_excess = [&](std::size_t i) { return shown[i] ? widths[i] - min_widths[i] : 0; };
    std::size_t widest = 0;
    for (std::size_t i = 1; i < min_widths.size(); ++i)
      if (get_excess(i) > get_excess(widest)) widest = i;
    if (get_excess(widest) == 0) return;
    --widths[widest];
  }
}

}  // namespace

std::string apply_tint(std::string_view text, Tint tint, bool use_color) {
  if (!use_color || tint == Tint::Plain || text.empty()) return std::string(text);
  return std::string(get_color_code(tint)) + std::string(text) + "\x1b[0m";
}

std::vector<std::size_t> TextTable::get_natural_widths() const {
  std::vector<std::size_t> widths;
  for (const TextColumn& column : columns_) widths.push_back(get_display_width(column.header));
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], get_display_width(row[i].text));
  return widths;
}

TextTable::FittedColumns TextTable::fit_columns(const TextLayout& layout) const {
  FittedColumns fitted{get_natural_widths(), std::vector<bool>(columns_.size(), true)};
  if (layout.width == 0) return fitted;
  auto min_widths = fitted.widths;
  for (std::size_t i = 0; i < min_widths.size(); ++i)
    if (columns_[i].min_width) min_widths[i] = std::min(min_widths[i], columns_[i].min_width);
  for (std::size_t i = columns_.size();
       i-- > 0 && !layout.wraps_cells &&
       get_total_width(min_widths, fitted.is_shown) > layout.width;)
    if (columns_[i].is_optional) fitted.is_shown[i] = false;
  shrink(fitted.widths, min_widths, fitted.is_shown, layout.width);
  if (!layout.wraps_cells) return fitted;
  for (std::size_t& width : min_widths) width = std::min(width, kMinWrappedWidth);
  shrink(fitted.widths, min_widths, fitted.is_shown, layout.width);
  return fitted;
}

// Appends as many lines as the longest cell needs.
void TextTable::append_row(std::string& out, const std::vector<TextCell>& row,
                           const FittedColumns& fitted, const TextLayout& layout) const {
  if (!layout.wraps_cells) return append_line(out, row, fitted, layout.use_color);
  std::vector<std::vector<std::string>> pieces;
  std::size_t lines = 1;
  for (std::size_t i = 0; i < row.size(); ++i) {
    pieces.push_back(fold(row[i].text, fitted.widths[i]));
    lines = std::max(lines, pieces.back().size());
  }
  for (std::size_t at = 0; at < lines; ++at) {
    std::vector<TextCell> line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line.push_back({at < pieces[i].size() ? pieces[i][at] : "", row[i].tint});
    append_line(out, line, fitted, layout.use_color);
  }
}

void TextTable::append_line(std::string& out, const std::vector<TextCell>& row,
                            const FittedColumns& fitted, bool use_color) const {
  std::string line;
  std::size_t blanks = 0;  // blanks to write before the next cell, so that no line ends in blanks
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!fitted.is_shown[i]) continue;
    const std::string text = shorten(row[i].text, fitted.widths[i]);
    const std::size_t pad = fitted.widths[i] - std::min(fitted.widths[i], get_display_width(text));
    const bool right = columns_[i].align == Align::Right;
    line.append(text.empty() ? 0 : blanks + (right ? pad : 0), ' ');
    line += apply_tint(text, row[i].tint, use_color);
    blanks = kColumnGap + (text.empty() ? blanks + pad : right ? 0 : pad);
  }
  out += line + "\n";
}

void TextTable::append_to(std::string& out, const TextLayout& layout) const {
  const FittedColumns fitted = fit_columns(layout);
  std::vector<TextCell> header;
  for (const TextColumn& column : columns_) header.push_back({column.header, Tint::Heading});
  append_row(out, header, fitted, layout);
  for (const auto& row : rows_) append_row(out, row, fitted, layout);
}

}  // namespace ctprof

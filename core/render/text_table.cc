#include "core/render/text_table.hpp"

#include <algorithm>
#include <numeric>

#include "core/render/printable.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kBetween = 2;
// Narrower than this, a wrapped cell cannot be read; a terminal too narrow even for that breaks
// lines by itself.
constexpr std::size_t kLeastWrapped = 6;

std::string_view code_of(Tint tint) {
  switch (tint) {
    case Tint::Heading: return "\x1b[36m";
    case Tint::More: return "\x1b[33m";
    case Tint::Less: return "\x1b[35m";
    case Tint::MuchMore: return "\x1b[1;33m";
    case Tint::MuchLess: return "\x1b[1;35m";
    case Tint::Plain: break;
  }
  return {};
}

std::size_t total(const std::vector<std::size_t>& widths, const std::vector<bool>& shown) {
  std::size_t sum = 0, count = 0;
  for (std::size_t i = 0; i < widths.size(); ++i)
    if (shown[i]) sum += widths[i], ++count;
  return sum + (count > 1 ? kBetween * (count - 1) : 0);
}

// The column that stands furthest above its least gives way, letter by letter.
void shrink(std::vector<std::size_t>& widths, const std::vector<std::size_t>& least,
            const std::vector<bool>& shown, std::size_t width) {
  while (total(widths, shown) > width) {
    const auto spare = [&](std::size_t i) { return shown[i] ? widths[i] - least[i] : 0; };
    std::size_t widest = 0;
    for (std::size_t i = 1; i < least.size(); ++i)
      if (spare(i) > spare(widest)) widest = i;
    if (spare(widest) == 0) return;
    --widths[widest];
  }
}

}  // namespace

std::string tinted(std::string_view text, Tint tint, bool color) {
  if (!color || tint == Tint::Plain || text.empty()) return std::string(text);
  return std::string(code_of(tint)) + std::string(text) + "\x1b[0m";
}

std::vector<std::size_t> TextTable::natural_widths() const {
  std::vector<std::size_t> widths;
  for (const TextColumn& column : columns_) widths.push_back(display_width(column.header));
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i].text));
  return widths;
}

TextTable::Fitted TextTable::fit(const TextLayout& layout) const {
  Fitted fitted{natural_widths(), std::vector<bool>(columns_.size(), true)};
  if (layout.width == 0) return fitted;
  auto least = fitted.widths;
  for (std::size_t i = 0; i < least.size(); ++i)
    if (columns_[i].least) least[i] = std::min(least[i], columns_[i].least);
  for (std::size_t i = columns_.size();
       i-- > 0 && !layout.wrap && total(least, fitted.shown) > layout.width;)
    if (columns_[i].may_go) fitted.shown[i] = false;
  shrink(fitted.widths, least, fitted.shown, layout.width);
  if (!layout.wrap) return fitted;
  for (std::size_t& width : least) width = std::min(width, kLeastWrapped);
  shrink(fitted.widths, least, fitted.shown, layout.width);
  return fitted;
}

// As many lines as its longest cell needs.
void TextTable::append_row(std::string& out, const std::vector<TextCell>& row, const Fitted& fitted,
                           const TextLayout& layout) const {
  if (!layout.wrap) return append_line(out, row, fitted, layout.color);
  std::vector<std::vector<std::string>> pieces;
  std::size_t lines = 1;
  for (std::size_t i = 0; i < row.size(); ++i) {
    pieces.push_back(folded(row[i].text, fitted.widths[i]));
    lines = std::max(lines, pieces.back().size());
  }
  for (std::size_t at = 0; at < lines; ++at) {
    std::vector<TextCell> line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line.push_back({at < pieces[i].size() ? pieces[i][at] : "", row[i].tint});
    append_line(out, line, fitted, layout.color);
  }
}

void TextTable::append_line(std::string& out, const std::vector<TextCell>& row,
                            const Fitted& fitted, bool color) const {
  std::string line;
  std::size_t blanks = 0;  // owed before the next cell; none at the end of a line
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!fitted.shown[i]) continue;
    const std::string text = shortened(row[i].text, fitted.widths[i]);
    const std::size_t pad = fitted.widths[i] - std::min(fitted.widths[i], display_width(text));
    const bool right = columns_[i].align == Align::Right;
    line.append(text.empty() ? 0 : blanks + (right ? pad : 0), ' ');
    line += tinted(text, row[i].tint, color);
    blanks = kBetween + (text.empty() ? blanks + pad : right ? 0 : pad);
  }
  out += line + "\n";
}

void TextTable::append_to(std::string& out, const TextLayout& layout) const {
  const Fitted fitted = fit(layout);
  std::vector<TextCell> header;
  for (const TextColumn& column : columns_) header.push_back({column.header, Tint::Heading});
  append_row(out, header, fitted, layout);
  for (const auto& row : rows_) append_row(out, row, fitted, layout);
}

}  // namespace ctprof

#include "core/page/page_strip.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace ctprof {
namespace {

constexpr double kStripWidth = 128, kStripMargin = 5;  // pixels, as in page.css

// Appends dots that need no script: strokes of length zero with round or square ends.
void append_dots(std::string& out, const PageRow& row) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const auto& side : row.runs)
    for (const double run : side)
      if (std::isfinite(run)) low = std::min(low, run), high = std::max(high, run);
  const double range = high > low ? high - low : 1;
  out += "<svg class=\"s\" aria-hidden=\"true\">";
  for (std::size_t side = 0; side < row.runs.size(); ++side) {
    out += side == 0 ? "<path class=\"a\" d=\"" : "<path class=\"b square\" d=\"";
    for (const double run : row.runs[side]) {
      if (!std::isfinite(run)) continue;
      const double x = kStripMargin + (run - low) / range * (kStripWidth - 2 * kStripMargin);
      out += "M" + std::to_string(std::lround(x)) + (side == 0 ? " 5h0" : " 13h0");
    }
    out += "\"/>";
  }
  out += "</svg>";
}

// Appends one bar for each side. Of two sides, the larger figure has the full length; of one side,
// the bar is the share of the total.
void append_bars(std::string& out, const PageRow& row) {
  std::vector<double> lengths;
  double largest = 0;
  for (const double side : row.sides) largest = std::max(largest, std::abs(side));
  for (const double side : row.sides)
    lengths.push_back(row.sides.size() == 1 ? std::min(row.share, 1.0) : std::abs(side) / largest);
  if (std::ranges::none_of(lengths, [](double length) { return std::isfinite(length); })) return;
  out += "<svg class=\"s bars\" aria-hidden=\"true\">";
  for (std::size_t side = 0; side < lengths.size(); ++side) {
    if (!std::isfinite(lengths[side])) continue;
    const auto width = std::lround(lengths[side] * kStripWidth);
    out += std::string("<rect class=\"") + (side == 0 ? "a" : "b") + "\" y=\"" +
           (lengths.size() == 1 ? "6"
            : side == 0         ? "2"
                                : "10") +
           "\" width=\"" + std::to_string(width) + "\" height=\"6\"/>";
  }
  out += "</svg>";
}

}  // namespace

void append_strip(std::string& out, const PageRow& row) {
  row.runs.empty() ? append_bars(out, row) : append_dots(out, row);
}

}  // namespace ctprof

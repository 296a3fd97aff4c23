#include "core/render/about_rows.hpp"

#include <algorithm>
#include <span>

#include "core/compare/report/screen.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/report_sentences.hpp"
#include "core/render/screen_table.hpp"

namespace ctprof {

std::string format_about_rows(const Report& report, const TextLayout& layout, std::size_t limit) {
  if (!report.screen() || report.screen()->about_rows.empty()) return {};
  const std::span<const ScreenRow> all(report.screen()->about_rows);
  const auto rows = all.first(limit == 0 ? all.size() : std::min(limit, all.size()));
  std::string out = format_screen_table(report, rows, layout).text;
  if (rows.size() < all.size())
    out += format_count(all.size() - rows.size(), "more row") + " (--limit 0)\n";
  return out + describe_about_evidence(report, layout.width) + "all groups:\n";
}

}  // namespace ctprof

#include "core/render/about_rows.hpp"

#include <span>

#include "core/compare/report/screen.hpp"
#include "core/render/evidence_text.hpp"
#include "core/render/screen_table.hpp"

namespace ctprof {

std::string about_rows(const Report& report, const TextLayout& layout) {
  if (!report.screen() || report.screen()->about_rows.empty()) return {};
  const std::span<const ScreenRow> rows(report.screen()->about_rows);
  return screen_table(report, rows, layout).text + about_text(report, layout.width) +
         "all groups:\n";
}

}  // namespace ctprof

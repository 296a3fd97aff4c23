#include "tools/ctprof/options/report_options.hpp"

namespace ctprof::cli {

Result<void> AllConditions::operator()(const OptionUse& use, WhereConditions& out) const {
  for (const std::string& text : use.values) CTPROF_TRY(add_condition(out, text));
  return {};
}

Result<std::vector<std::string>> parse_section_names(const OptionUse& use) {
  if (use.last().empty()) return std::vector<std::string>();
  return parse_sections(use.last());
}

// --entity replaces a --group-by of the configuration.
Result<void> ReportOptions::check(const CommandLine& line) {
  if (line.is_typed("entity") && line.is_typed("group-by"))
    return Error{"--entity shows one group for each row: omit --group-by"};
  return InputOptions::check(line);
}

}  // namespace ctprof::cli

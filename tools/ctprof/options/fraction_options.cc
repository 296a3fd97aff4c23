#include "tools/ctprof/options/fraction_options.hpp"

#include <cstdlib>
#include <string_view>

namespace ctprof::cli {

Result<double> parse_fraction(const FractionOption& option, const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool is_percent = std::string_view(end) == "%";
  const double fraction = is_percent ? number / 100 : number;
  const bool is_number = end != text.c_str() && (is_percent || *end == '\0');
  if (!is_number || !is_in_range(option, fraction) || (!is_percent && fraction > 1))
    return Error{"--" + std::string(option.name) + ": '" + text +
                 "' is not a fraction such as 0.05 or 5%"};
  return fraction;
}

}  // namespace ctprof::cli

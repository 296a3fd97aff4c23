// ctprof fleet significance: parses the options that set a threshold for significance, so that the
// package has the syntax, ranges and defaults of all other commands.

#include <span>
#include <string>
#include <string_view>

#include "core/base/json_writer.hpp"
#include "core/compare/request/spec.hpp"
#include "tools/ctprof/fleet/fleet.hpp"
#include "tools/ctprof/options/fraction_options.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {

int run_fleet_significance(std::span<const char* const> words) {
  SignificanceThreshold threshold;
  for (; words.size() >= 2; words = words.subspan(2)) {
    const std::string_view option = words[0];
    if (option != "--alpha" && option != "--min-shift") break;
    const bool is_alpha = option == "--alpha";
    const auto fraction = parse_fraction(is_alpha ? kAlpha : kMinShift, words[1]);
    if (!fraction) return fail(fraction.error());
    (is_alpha ? threshold.alpha : threshold.min_shift) = *fraction;
  }
  if (!words.empty()) return fail("fleet significance takes --alpha P and --min-shift PERCENT");
  JsonWriter out(Escape::Unprintable);
  out.put('{');
  out.key("alpha");
  out.number(threshold.alpha);
  out.put(',');
  out.key("min_shift");
  out.number(threshold.min_shift);
  out.close('}');
  out.put('\n');
  return print(out.view());
}

}  // namespace ctprof::cli

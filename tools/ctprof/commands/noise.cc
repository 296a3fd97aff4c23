// ctprof noise: reports how much repeated runs differ.

#include <cstddef>
#include <span>
#include <string>

#include "core/compare/report/noise.hpp"
#include "core/compare/report/report.hpp"
#include "core/render/noise_text.hpp"
#include "tools/ctprof/commands/report.hpp"
#include "tools/ctprof/options/command.hpp"
#include "tools/ctprof/options/report_options.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/pager.hpp"
#include "tools/ctprof/runtime/progress.hpp"

namespace ctprof::cli {
namespace {

struct NoiseOptions : ReportOptions {
  double shift = 0;  // a fraction; 0: none
};

constexpr auto kNoiseOptions = option_list<NoiseOptions>(
    kVerbose, kGroupBy, kWhere, kAbout,
    option("shift", "PERCENT", member<&NoiseOptions::shift>, Fraction<kShift>(),
           "Also print how many interleaved pairs of runs, and which recording time, would find a "
           "shift of PERCENT significant in 9 of 10 comparisons, such as 10%."),
    kAlphaOption, kLimit, kScreenAndSchema, kQuietAndHelp);

int print_noise(const Report& report, const std::string& files, const NoiseOptions& options) {
  const auto noise = [&] {
    const ActivityProgress busy(options, "splitting runs into halves");
    return compute_noise(report, options.shift);
  }();
  if (!noise) return fail(noise.error());
  const std::size_t limit = report.spec().limit;
  if (options.format == Format::Json) return print(format_noise_json(report, *noise, files, limit));
  const TextLayout layout{terminal_width(), use_color(options), options.wrap};
  return print_paged(options, format_noise_text(report, *noise, files, layout, limit));
}

int run_noise(const NoiseOptions& options) {
  if (options.arguments.empty())
    return fail("missing DIR, a directory of runs; usage: ctprof noise DIR");
  return make_and_print_report(
      options, [&](const Report& report, std::span<const std::string> files, const ColumnChoice&) {
        return print_noise(report, files.front(), options);
      });
}

}  // namespace

extern constinit const CommandInfo kNoiseCommand = make_command<NoiseOptions, run_noise>(
    {.name = "noise",
     .similar_names = "variance,stats",
     .arguments = "DIR",
     .summary = "report the noise of repeated runs, and which shift they could detect",
     .example = "ctprof noise runs/",
     .max_arguments = 1},
    kNoiseOptions);

}  // namespace ctprof::cli

// The options of commands that read files: which of them belong to one side of a comparison, and
// which windows of a directory are read.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/archive/span.hpp"
#include "core/base/result.hpp"
#include "tools/ctprof/options/common_options.hpp"
#include "tools/ctprof/options/option.hpp"

namespace ctprof::cli {

struct InputOptions : CommonOptions {
  // The arguments after each --vs, up to the next; `arguments` are those before the first.
  std::vector<std::vector<std::string>> vs{};
  std::vector<std::uint64_t> since{}, until{};  // ns since 1970, one for each side
  std::vector<Span> spans{};  // one for each side; the last one also applies to later sides
  bool lifetime = false;

  Result<void> check(const CommandLine& line);
};

Result<std::vector<std::uint64_t>> parse_times(const OptionUse& use);

Result<std::vector<std::vector<std::string>>> take_sides(const OptionUse& use);

// The error for a --vs without arguments before or after it.
Error missing_side_error();

inline constexpr auto kLifetime = switch_on("lifetime", member<&InputOptions::lifetime>,
                                            "Show totals since each thread started instead of "
                                            "differences. Of a window, totals at its end.");
inline constexpr auto kVs = option("vs", "FILE", member<&InputOptions::vs>, Parsed<&take_sides>(),
                                   "Start the next side: compare A1 A2 --vs B1 B2.")
                                .only_typed();
// The first occurrence of each applies to the first side, and so on.
inline constexpr std::array kSpan{
    option("since", "WHEN", member<&InputOptions::since>, Parsed<&parse_times>(),
           "Select the windows since WHEN from a directory that record --every fills: 10 min ago, "
           "15:00, yesterday 15:00, 2026-11-23 15:00. Repeat it for further sides.")
        .only_typed(),
    option("until", "WHEN", member<&InputOptions::until>, Parsed<&parse_times>(),
           "Select the windows until WHEN, including a window that contains WHEN.")
        .only_typed()};

}  // namespace ctprof::cli

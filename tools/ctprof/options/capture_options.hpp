// The options of commands that read a live host: which processes and metrics.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/capture/options.hpp"
#include "tools/ctprof/options/common_options.hpp"
#include "tools/ctprof/options/option.hpp"
#include "tools/ctprof/options/option_parsers.hpp"
#include "tools/ctprof/options/output_options.hpp"

namespace ctprof::cli {

Result<std::vector<std::uint64_t>> parse_pids(const OptionUse& use);
// "/a.slice/" and "a.slice" mean "/a.slice".
Result<std::string> parse_cgroup(const OptionUse& use);

struct ProcessChoice {
  std::vector<std::uint64_t> pids{};  // empty: all
};
inline constexpr auto kPids =
    option("pid,p", "PID,...", member<&ProcessChoice::pids>, Parsed<&parse_pids>(),
           "Select only these processes; with record and live also processes that they fork "
           "meanwhile.")
        .only_typed();

// What a snapshot or a window of this host contains.
struct HostChoice : ProcessChoice, WorkerOptions, MetricChoice {
  std::string cgroup{};  // only processes in it or below it; empty: all
  bool hostname = true;
  std::optional<Level> level{};  // none: the default of the command
};

inline constexpr std::array kLevels{Word{"fast", Level::Fast}, Word{"full", Level::Full}};

inline constexpr auto kCgroup =
    option("cgroup", "PATH", member<&HostChoice::cgroup>, Parsed<&parse_cgroup>(),
           "Select only processes in this cgroup or below it, such as /a.slice/b.service.");
inline constexpr auto kNoHostname = switch_off("no-hostname", member<&HostChoice::hostname>,
                                               "Do not store the host name in the file.");
inline constexpr auto kLevel =
    option("level", "fast|full", member<&HostChoice::level>, OneOf<kLevels>(),
           "Select metrics by cost. full (default of capture) includes metrics that are expensive "
           "to read, such as process.smaps_rollup and heaps. fast (default of record) includes "
           "these only if --metrics names them.");

struct RootfsOption {
  std::string rootfs{};
};
inline constexpr auto kRootfs = option("rootfs", "DIR", member<&RootfsOption::rootfs>, LastText(),
                                       "Read /proc, /sys and cgroup below DIR.");

struct StrictOption {
  bool strict = false;
};
inline constexpr auto kStrict = switch_on(
    "strict", member<&StrictOption::strict>,
    "Exit with status 3 and one message if some requested data is missing: a plugin, a metric that "
    "was named or that needs more privileges, threads, records. The file is written anyway.");

}  // namespace ctprof::cli

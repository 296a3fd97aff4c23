// The options of commands that write a file, and the number of threads that work on it.

#pragma once

#include <array>
#include <string>

#include "core/base/result.hpp"
#include "tools/ctprof/options/option.hpp"
#include "tools/ctprof/options/option_parsers.hpp"

namespace ctprof::cli {

struct OutputOptions {
  std::string output{};
  bool sync = true;
  bool force = false;
};

inline constexpr auto kOutput =
    option("output,o", "FILE", member<&OutputOptions::output>, LastText(),
           "Write the result to FILE. Only you can read a new file (0600). - is standard output. "
           "Default, in the current directory: of record, the name of the host and the time; of "
           "report and flame, the name of the first FILE with .html or .svg. symbolize replaces "
           "the file itself by default.")
        .only_typed();
inline constexpr auto kNoSync =
    switch_off("no-sync", member<&OutputOptions::sync>, "Do not wait until the file is on disk.");
inline constexpr auto kForce =
    switch_on("force", member<&OutputOptions::force>,
              "Replace the file that -o names even if it is of another kind.")
        .only_typed();
inline constexpr std::array kWriting{kNoSync, kForce};

struct WorkerOptions {
  unsigned jobs = 0;  // 0: as many as there are idle CPUs
};

Result<unsigned> parse_jobs(const OptionUse& use);

inline constexpr auto kJobs =
    option("jobs,j", "N", member<&WorkerOptions::jobs>, Parsed<&parse_jobs>(),
           "Use N worker threads. Default: as many as there are idle CPUs.");

}  // namespace ctprof::cli

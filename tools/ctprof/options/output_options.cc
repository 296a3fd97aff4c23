#include "tools/ctprof/options/output_options.hpp"

#include <cstdint>

namespace ctprof::cli {
namespace {

constexpr std::uint64_t kMaxJobs = 1024;

}  // namespace

Result<unsigned> parse_jobs(const OptionUse& use) {
  CTPROF_TRY_VALUE(const auto jobs, parse_whole_number(use));
  if (jobs < 1 || jobs > kMaxJobs)
    return Error{"--jobs: " + use.last() + " is not between 1 and " + std::to_string(kMaxJobs)};
  return static_cast<unsigned>(jobs);
}

}  // namespace ctprof::cli

// ctprof compare: what moved between two snapshots.

#include <algorithm>

#include "tools/ctprof/report.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {

int run_compare(const Options& options) {
  const auto& files = options.arguments;
  if (files.size() != 2) return fail("compare takes two files: ctprof compare BEFORE AFTER");
  if (std::count(files.begin(), files.end(), "-") > 1)
    return fail("compare can read one file from standard input, not both");
  return report_on(files, ReportKind::Compare, options);
}

}  // namespace ctprof::cli

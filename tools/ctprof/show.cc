// ctprof show: one snapshot, group by group.

#include "tools/ctprof/report.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {

int run_show(const Options& options) {
  if (options.arguments.size() != 1) return fail("show takes one file: ctprof show FILE");
  return report_on(options.arguments, ReportKind::Show, options);
}

}  // namespace ctprof::cli

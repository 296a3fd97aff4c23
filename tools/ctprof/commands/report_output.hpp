// Prints the report of show and compare: as text, JSON or CSV.

#pragma once

#include "core/base/result.hpp"
#include "tools/ctprof/options/report_options.hpp"

namespace ctprof::cli {

// The options of show and compare.
struct PrintedReportOptions : ReportOptions {
  Result<void> check(const CommandLine& line);
};

// Makes the report of the files that the options name, and prints it. Returns the exit status.
int print_requested_report(const PrintedReportOptions& options);

}  // namespace ctprof::cli

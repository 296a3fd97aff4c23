// What show and compare share: from the options and files to a printed report.

#pragma once

#include <span>
#include <string>

#include "core/compare/asked/spec.hpp"
#include "tools/ctprof/options.hpp"

namespace ctprof::cli {

// Reads the files, one OS thread each, and prints the report on them; returns the exit status.
int report_on(std::span<const std::string> files, ReportKind kind, const Options& options);

}  // namespace ctprof::cli

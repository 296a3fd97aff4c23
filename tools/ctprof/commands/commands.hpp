// The entry points of the commands. Each takes the options of its command line and returns the exit
// status (output.hpp). The table of commands is command_table.hpp.

#pragma once

#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

int run_capture(const Options& options);
int run_record(const Options& options);
int run_live(const Options& options);
int run_show(const Options& options);
int run_compare(const Options& options);
int run_noise(const Options& options);
int run_record_tree(const Options& options);
int run_report(const Options& options);
int run_flame(const Options& options);
int run_symbolize(const Options& options);
int run_export(const Options& options);
int run_metric_list(const Options& options);
int run_plugins(const Options& options);
int run_doctor(const Options& options);
int run_config(const Options& options);
int run_completion(const Options& options);
int run_version(const Options& options);

}  // namespace ctprof::cli

// All sources of tools/ctprof/options, which are compiled as one.

#include "tools/ctprof/options/capture_options.cc"
#include "tools/ctprof/options/command.cc"
#include "tools/ctprof/options/command_line.cc"
#include "tools/ctprof/options/fraction_options.cc"
#include "tools/ctprof/options/input_options.cc"
#include "tools/ctprof/options/option_help.cc"
#include "tools/ctprof/options/option_parsers.cc"
#include "tools/ctprof/options/output_options.cc"
#include "tools/ctprof/options/recorder_options.cc"
#include "tools/ctprof/options/report_options.cc"
#include "tools/ctprof/options/settings.cc"
#include "tools/ctprof/options/shell_words.cc"

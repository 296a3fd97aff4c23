// All sources of tools/ctprof/options, which are compiled as one.

#include "tools/ctprof/options/continuous_options.cc"
#include "tools/ctprof/options/fraction_options.cc"
#include "tools/ctprof/options/option_descriptions.cc"
#include "tools/ctprof/options/option_values.cc"
#include "tools/ctprof/options/options.cc"
#include "tools/ctprof/options/plugin_options.cc"
#include "tools/ctprof/options/record_options.cc"
#include "tools/ctprof/options/settings.cc"
#include "tools/ctprof/options/shell_words.cc"
#include "tools/ctprof/options/table_options.cc"

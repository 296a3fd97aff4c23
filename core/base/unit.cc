// Unity build of core/base: compiles all its sources as one unit.

#include "core/base/child_process.cc"
#include "core/base/cpu_ranges.cc"
#include "core/base/dropped_capabilities.cc"
#include "core/base/json_writer.cc"
#include "core/base/keyed_hash.cc"
#include "core/base/local_file.cc"
#include "core/base/markup.cc"
#include "core/base/number.cc"
#include "core/base/own_files.cc"
#include "core/base/text.cc"
#include "core/base/version.cc"
#include "core/base/workers.cc"

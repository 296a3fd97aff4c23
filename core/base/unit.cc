// All sources of core/base, which are compiled as one.

#include "core/base/clock.cc"
#include "core/base/cpu_ranges.cc"
#include "core/base/helper_process.cc"
#include "core/base/json_writer.cc"
#include "core/base/keyed_hash.cc"
#include "core/base/lowered_rights.cc"
#include "core/base/markup.cc"
#include "core/base/number.cc"
#include "core/base/own_files.cc"
#include "core/base/text.cc"
#include "core/base/version.cc"
#include "core/base/workers.cc"

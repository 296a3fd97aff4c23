// All sources of core/file/read, compiled as one unit.

#include "core/file/read/draft.cc"
#include "core/file/read/events.cc"
#include "core/file/read/load.cc"
#include "core/file/read/read_pass.cc"
#include "core/file/read/row_filler.cc"
#include "core/file/read/row_reader.cc"

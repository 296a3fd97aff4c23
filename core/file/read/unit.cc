// All sources of core/file/read, compiled as one unit.

#include "core/file/read/json_handler.cc"
#include "core/file/read/load.cc"
#include "core/file/read/read_pass.cc"
#include "core/file/read/row_filler.cc"
#include "core/file/read/row_reader.cc"
#include "core/file/read/snapshot_builder.cc"

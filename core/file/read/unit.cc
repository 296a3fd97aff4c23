// All sources of core/file/read, compiled as one unit.

#include "core/file/read/load.cc"
#include "core/file/read/row_filler.cc"
#include "core/file/read/row_reader.cc"
#include "core/file/read/rows_reader.cc"
#include "core/file/read/snapshot_builder.cc"
#include "core/file/read/text_source.cc"

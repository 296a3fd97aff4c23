// All sources of core/file/read, compiled as one unit.

#include "core/file/read/capture_file.cc"
#include "core/file/read/file_bytes.cc"
#include "core/file/read/row_filler.cc"
#include "core/file/read/row_reader.cc"
#include "core/file/read/rows_reader.cc"
#include "core/file/read/snapshot_builder.cc"
#include "core/file/read/text_source.cc"

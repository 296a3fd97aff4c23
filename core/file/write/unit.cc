// All sources of core/file/write, compiled as one unit.

#include "core/file/write/destination.cc"
#include "core/file/write/document.cc"
#include "core/file/write/out_file.cc"
#include "core/file/write/row_writer.cc"
#include "core/file/write/write_file.cc"

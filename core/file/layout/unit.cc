// All sources of core/file/layout, compiled as one unit.

#include "core/file/layout/cell.cc"
#include "core/file/layout/code_runs.cc"
#include "core/file/layout/field_reader.cc"
#include "core/file/layout/label_part.cc"
#include "core/file/layout/layout.cc"
#include "core/file/layout/members.cc"
#include "core/file/layout/registry_part.cc"
#include "core/file/layout/row_notes.cc"
#include "core/file/layout/sections.cc"

// Compiles all sources of core/tables as one translation unit.

#include "core/tables/capture_fields.cc"
#include "core/tables/exported_groups.cc"
#include "core/tables/exposition.cc"
#include "core/tables/group_series.cc"
#include "core/tables/histogram_series.cc"
#include "core/tables/metric_family.cc"
#include "core/tables/table_cell.cc"
#include "core/tables/table_columns.cc"
#include "core/tables/table_rows.cc"
#include "core/tables/text_row_writer.cc"

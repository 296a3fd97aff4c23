// All sources of tools/ctprof/commands, which are compiled as one.

#include "tools/ctprof/commands/capture.cc"
#include "tools/ctprof/commands/child_command.cc"
#include "tools/ctprof/commands/continuous_recording.cc"
#include "tools/ctprof/commands/denet.cc"
#include "tools/ctprof/commands/doctor.cc"
#include "tools/ctprof/commands/export.cc"
#include "tools/ctprof/commands/export_parquet.cc"
#include "tools/ctprof/commands/export_prometheus.cc"
#include "tools/ctprof/commands/export_tables.cc"
#include "tools/ctprof/commands/flame.cc"
#include "tools/ctprof/commands/http_server.cc"
#include "tools/ctprof/commands/interleave.cc"
#include "tools/ctprof/commands/listen_access.cc"
#include "tools/ctprof/commands/offer_statuses.cc"
#include "tools/ctprof/commands/page_file.cc"
#include "tools/ctprof/commands/plugins.cc"
#include "tools/ctprof/commands/record.cc"
#include "tools/ctprof/commands/record_tree.cc"
#include "tools/ctprof/commands/report.cc"
#include "tools/ctprof/commands/report_spec.cc"
#include "tools/ctprof/commands/scrape.cc"
#include "tools/ctprof/commands/symbolize.cc"
#include "tools/ctprof/commands/tree_files.cc"
#include "tools/ctprof/commands/version.cc"
#include "tools/ctprof/commands/window_directory.cc"
#include "tools/ctprof/commands/window_store.cc"

// Last, because ncurses headers define common words as macros.
#ifdef CTPROF_NCURSES
#include "tools/ctprof/commands/live.cc"
#include "tools/ctprof/commands/terminal.cc"
#else
#include "tools/ctprof/commands/without_live.cc"
#endif

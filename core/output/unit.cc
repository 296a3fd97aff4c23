// All sources of core/output, which are compiled as one.

#include "core/output/describe_window.cc"
#include "core/output/find_output.cc"
#include "core/output/make_output_window.cc"
#include "core/output/make_thread_window.cc"
#include "core/output/output_answers.cc"
#include "core/output/output_child.cc"
#include "core/output/output_library.cc"
#include "core/output/output_messages.cc"
#include "core/output/output_process.cc"
#include "core/output/printed_lines.cc"
#include "core/output/window_bytes.cc"
#include "core/output/window_view.cc"

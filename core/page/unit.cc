// Compiles all sources of core/page as one translation unit.

#include "core/page/group_tree.cc"
#include "core/page/page_cards.cc"
#include "core/page/page_facts.cc"
#include "core/page/page_rows.cc"
#include "core/page/page_stacks.cc"
#include "core/page/page_strip.cc"
#include "core/page/page_table.cc"
#include "core/page/report_page.cc"
#include "core/page/report_summary.cc"

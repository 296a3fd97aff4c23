// Compiles all sources of plugins/jemalloc-ptrace/finder as one translation unit.

#include "plugins/jemalloc-ptrace/finder/allocator_file.cc"
#include "plugins/jemalloc-ptrace/finder/capture_budget.cc"
#include "plugins/jemalloc-ptrace/finder/debug_info.cc"
#include "plugins/jemalloc-ptrace/finder/debug_sections.cc"
#include "plugins/jemalloc-ptrace/finder/elf_symbols.cc"
#include "plugins/jemalloc-ptrace/finder/finder.cc"
#include "plugins/jemalloc-ptrace/finder/mappings.cc"
#include "plugins/jemalloc-ptrace/finder/stripped_program.cc"
#include "plugins/jemalloc-ptrace/finder/target_file.cc"
#include "plugins/jemalloc-ptrace/finder/tsd_code.cc"

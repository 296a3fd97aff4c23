// Unity build of core/elf: compiles all its sources as one unit.

#include "core/elf/debug_link.cc"
#include "core/elf/debug_sections.cc"
#include "core/elf/elf_file.cc"
#include "core/elf/elf_image.cc"
#include "core/elf/file_budget.cc"
#include "core/elf/libdw.cc"
#include "core/elf/package_index.cc"

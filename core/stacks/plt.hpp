// Names of the short pieces of code through which a file calls functions of others (.plt): each has
// the name of the function that it calls, "read@plt".
//
// No list of symbols contains them. A piece jumps to the address in a slot, and a relocation names
// the function of the slot; a piece that the dynamic linker runs first pushes the number of the
// relocation instead. Only x86-64.
//
// Threads: one at a time.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/stacks/elf_file.hpp"

namespace ctprof {

class NameWork;

// Fills in names that are empty. The addresses are in ascending order.
void fill_plt_names(const ElfFile& file, std::span<const FileAddress> addresses,
                    std::vector<std::string>& names, NameWork& work);

}  // namespace ctprof

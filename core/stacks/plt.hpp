// Names the short stubs through which a file calls functions of other files (.plt): each gets the
// name of the function that it calls, such as "read@plt".
//
// No list of symbols contains them. A stub jumps to the address in a slot, and a relocation names
// the function of the slot. A stub that enters the dynamic linker first pushes the number of the
// relocation instead. Supports only x86-64.
//
// Threads: not thread-safe.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/elf/elf_file.hpp"

namespace ctprof {

class NameWork;

// Sets the names that are empty. The addresses are in ascending order.
void fill_plt_names(const ElfFile& file, std::span<const FileAddress> addresses,
                    std::vector<std::string>& names, NameWork& work);

}  // namespace ctprof

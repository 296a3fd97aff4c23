// Finds the names of many addresses in one pass over symbol lists that may be hostile.
//
// The addresses are sorted, and the list is read once without building a table: the kernel has
// 120,000 symbols, and a profile needs the names of some hundred addresses.
//
// An address belongs to the nearest symbol at or below it if that symbol reaches it, otherwise to a
// symbol that spans it. A symbol without a size reaches up to the next one, at most 64 KiB. In
// files, it ends with its section and where call frame information shows the start of another
// function. If a list has only some functions, it includes only the code that call frame
// information assigns to it.
//
// If several symbols begin at the same address, the last one is used in maps of just-in-time
// compilers, which reuse memory. In files, the name that other files can call is used, without its
// version, so that a stripped file and one with all its symbols give the same name. Among several
// such names, the one with the fewest leading underscores is used, because underscores mark names
// that a library reserves for itself: "poll", not "__poll".
//
// Lists can be built to cause work, so NameWork counts and limits it. A list that exceeds the
// remaining work is not searched at all, because the nearest of some symbols may differ from the
// nearest of all. A name that is not read is empty.
//
// All functions take unique addresses in ascending order and return a name for each as it appears
// in the list (see demangle.hpp); empty: the address has no name.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/elf/elf_file.hpp"
#include "core/stacks/name_work.hpp"

namespace ctprof {

// In bytes; longer names are truncated.
inline constexpr std::size_t kMaxFunctionNameSize = 8192;

// Searches the function table of a Go program, which states where each function ends, then .symtab,
// then the functions that entries of .plt call ("read@plt"), then .dynsym and the list that some
// distributions leave compressed in stripped files (.gnu_debugdata). The first function of a
// program is "_start". `debug_file`: the debug file of the file, or null.
std::vector<std::string> find_names_in_file(const ElfFile& file,
                                            std::span<const FileAddress> addresses,
                                            const ElfFile* debug_file, NameWork& work);
// Searches the file itself, without a limit on work.
std::vector<std::string> find_names_in_file(const ElfFile& file,
                                            std::span<const FileAddress> addresses);

// Returns whether a file still has the list of all its functions, .symtab.
bool has_symtab(const ElfFile& file);

// Searches the text of /tmp/perf-<pid>.map, which just-in-time compilers write: lines of start,
// size and name; the numbers are hexadecimal, with or without 0x.
std::vector<std::string> find_names_in_perf_map(std::string_view text,
                                                std::span<const std::uint64_t> addresses,
                                                NameWork& work);
// The same, without a limit on work.
std::vector<std::string> find_names_in_perf_map(std::string_view text,
                                                std::span<const std::uint64_t> addresses);

// Searches text in the format of /proc/kallsyms: "ffffffff81000000 T _text", optionally followed by
// a module's name in brackets. Text whose addresses are hidden (all zero) gives no names.
std::vector<std::string> find_names_in_kallsyms(std::string_view text,
                                                std::span<const std::uint64_t> addresses);

}  // namespace ctprof

// Names of many addresses at once, from lists of symbols that may be hostile.
//
// The addresses are sorted, and the list is passed over once, so that no table of it is built: the
// kernel has 120,000 symbols, and a profile asks for some hundred of them.
//
// An address belongs to the nearest symbol at or below it, if that reaches it, else to one that
// spans it; one without a size reaches up to the next, 64 KiB at most, and in files to the end of
// its section. Where several begin at one address, the last one counts, as in the maps
// of just-in-time compilers, which use memory again.
//
// All functions take addresses in ascending order, each once, and return a name for each as it
// stands in the list (demangle.hpp); empty: it has none.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/stacks/elf_file.hpp"

namespace ctprof {

// Bytes; longer names are cut.
inline constexpr std::size_t kLongestFunctionName = 8192;

// From .symtab; what is not found there from the list that some distributions leave packed in
// stripped files (.gnu_debugdata), and last from .dynsym. `stripped`: what was stripped from the
// file, or null.
std::vector<std::string> names_in_file(const ElfFile& file, std::span<const FileAddress> addresses,
                                       const ElfFile* stripped = nullptr);

// Whether a file still has the list of all its functions, .symtab.
bool is_unstripped(const ElfFile& file);

// From the text of /tmp/perf-<pid>.map, which just-in-time compilers write: lines of start, size
// and name, the numbers hexadecimal, with or without 0x.
std::vector<std::string> names_in_perf_map(std::string_view text,
                                           std::span<const std::uint64_t> addresses);

// From a text like /proc/kallsyms: "ffffffff81000000 T _text", and a module's name in brackets
// after that. One whose addresses are hidden (all zero) tells nothing.
std::vector<std::string> names_in_kallsyms(std::string_view text,
                                           std::span<const std::uint64_t> addresses);

}  // namespace ctprof

// Names of many addresses at once, from lists of symbols that may be hostile.
//
// The addresses are sorted, and the list is passed over once, so that no table of it is built: the
// kernel has 120,000 symbols, and a profile asks for some hundred of them.
//
// An address belongs to the nearest symbol at or below it, if that reaches it, else to one that
// spans it; one without a size reaches up to the next, 64 KiB at most. In files, it ends with its
// section, and where call frame information shows that another function begins; where a list has
// only some functions, it includes only what call frame information shows to belong to it.
//
// Where several begin at one address, the last one counts in maps of just-in-time compilers, which
// use memory again. In files the name that other files can call counts, without its version, so
// that a stripped file and one with all its symbols give one name.
//
// Lists may also be made to cause work, so it is counted, and NameWork limits it: a list that would
// take more than is left is not searched at all, for the nearest of some symbols may be another one
// than that of all; and a name that is not read is empty.
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

// Counts work: a step is a byte of a symbol that is passed over, an eighth of a byte of a name, a
// quarter of a byte of a text, and a sixteenth of one that is unpacked. 100 million take about a
// quarter of a second.
class NameWork {
 public:
  static constexpr std::uint64_t kStepsOfNameByte = 8, kStepsOfTextByte = 4,
                                 kStepsOfUnpackedByte = 16;

  // Without a limit.
  NameWork() = default;
  explicit NameWork(std::uint64_t most) : left_(most) {}

  // Whether there is as much left. Where there is not, nothing is spent, and is_over().
  bool spend(std::uint64_t steps);
  // Spends all that is left, for something that takes more.
  void exceed() {
    left_ = 0;
    is_over_ = true;
  }
  // True: something was left out.
  bool is_over() const { return is_over_; }
  std::uint64_t left() const { return left_; }

 private:
  std::uint64_t left_ = UINT64_MAX;
  bool is_over_ = false;
};

// From the function table of a Go program, which states where each function ends; from .symtab;
// what is not found there from the functions that entries of .plt call ("read@plt"), then from
// .dynsym and the list that some distributions leave packed in stripped files (.gnu_debugdata). A
// program's first function is "_start". `stripped`: what was stripped from the file, or null.
std::vector<std::string> names_in_file(const ElfFile& file, std::span<const FileAddress> addresses,
                                       const ElfFile* stripped, NameWork& work);
// Of the file itself, whatever work it takes.
std::vector<std::string> names_in_file(const ElfFile& file, std::span<const FileAddress> addresses);

// Whether a file still has the list of all its functions, .symtab.
bool is_unstripped(const ElfFile& file);

// From the text of /tmp/perf-<pid>.map, which just-in-time compilers write: lines of start, size
// and name, the numbers hexadecimal, with or without 0x.
std::vector<std::string> names_in_perf_map(std::string_view text,
                                           std::span<const std::uint64_t> addresses,
                                           NameWork& work);
// The same, whatever work it takes.
std::vector<std::string> names_in_perf_map(std::string_view text,
                                           std::span<const std::uint64_t> addresses);

// From a text like /proc/kallsyms: "ffffffff81000000 T _text", and a module's name in brackets
// after that. One whose addresses are hidden (all zero) tells nothing.
std::vector<std::string> names_in_kallsyms(std::string_view text,
                                           std::span<const std::uint64_t> addresses);

}  // namespace ctprof

// The table of functions that the Go linker adds to each program for the runtime (.gopclntab), also
// to stripped ones: names, inlined functions, and the frame size at each instruction.
//
// It supports the formats of Go 1.16 to 1.17, 1.18 to 1.19, and since 1.20, of 64-bit little-endian
// programs. The frame size gives the same CFA as the program's .debug_frame, which stripping
// removes.
//
// The table may be hostile: reads stay within its bytes. One lookup decodes at most kMaxSteps
// pairs of a value and a distance, and the pairs are counted.
//
// Example:
//   const GoTable table = find_go_table(file);
//   if (table.has_functions()) name = table.find_name(address);
//
// See also: go_program.cc finds the table in a file.
// Threads: not thread-safe.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/elf/elf_file.hpp"
#include "core/stacks/rule.hpp"

namespace ctprof {

class GoTable {
 public:
  static constexpr std::size_t kMaxSteps = 1 << 18;
  static constexpr std::size_t kMaxInlined = 64;  // inlined functions at one address

  // Creates a table without functions.
  GoTable() = default;
  // `bytes` begin with the header of the table; `address` is where they are loaded. The table has
  // no functions if the format of the header is unknown.
  GoTable(std::string bytes, FileAddress address, RegisterNumbers registers);

  bool has_functions() const { return function_count_ > 0; }
  // Returns the number of pairs that lookups have decoded so far.
  std::uint64_t steps() const { return steps_; }
  // Returns the size in memory.
  std::size_t get_memory_size() const { return bytes_.size(); }
  FileAddress address() const { return address_; }
  // Returns the load address of function names, to which the runtime's module data points.
  FileAddress names_address() const { return address_ + names_offset_; }
  // Returns whether the header lacks the address of the first function, as since Go 1.26.
  bool lacks_text_start() const { return is_relative() && text_start_ == 0; }
  void set_text_start(FileAddress text) { text_start_ = text; }
  // Sets the load address of function data, which contains the trees of inlined functions.
  void set_function_data(FileAddress data) { function_data_ = data; }

  // Returns the name of the function at an address; empty if there is none.
  std::string_view find_name(FileAddress address) const;
  // Returns the rule at an address; Cfa::None if there is none. A function that the runtime enters
  // on another stack is a root.
  UnwindRule find_rule(FileAddress address) const;
  // Visits the rules of all addresses. Returns false if `visit` does, or if functions are unsorted.
  bool visit_all_rules(const RuleVisitor& visit) const;
  // Returns the functions that were inlined at an address, outermost first, without the function
  // that contains them. Empty without the address of function data.
  std::vector<std::string_view> find_inlined(const ElfFile& file, FileAddress address) const;
  // Returns whether the trees of inlined functions at this address describe functions of this
  // table. This distinguishes the correct address of function data from others.
  bool describes_functions(const ElfFile& file, FileAddress data) const;

 private:
  enum class Format : std::uint8_t { Go116, Go118, Go120 };
  struct Function {
    FileAddress entry = 0, end = 0;
    std::int32_t name = 0;
    std::uint32_t frame_sizes = 0;    // offsets of tables of values
    std::uint32_t inlined_index = 0;  // the same; 0: none
    std::uint64_t inlined_tree = 0;   // address, or offset from function data
    bool has_tree = false;
  };
  struct InlinedCall {
    std::int32_t name = 0, parent_pc = 0;
  };

  bool is_relative() const { return format_ != Format::Go116; }
  template <class T>
  T read_number(std::uint64_t at) const;
  std::string_view read_text(std::uint64_t at) const;
  FileAddress read_entry(std::uint64_t index) const;
  std::optional<Function> find(FileAddress address) const;
  Function read_function(std::uint64_t index) const;
  void read_function_data(Function& function, std::uint64_t at, std::uint32_t values) const;
  std::optional<std::int32_t> find_value(std::uint32_t table, const Function& function,
                                         FileAddress address) const;
  UnwindRule make_rule(const Function& function, std::int32_t frame_size) const;
  bool visit_function_rules(const Function& function, const RuleVisitor& visit) const;
  std::optional<FileAddress> find_tree_address(const Function& function, FileAddress data) const;
  std::optional<InlinedCall> read_inlined(const ElfFile& file, FileAddress tree,
                                          std::int32_t index) const;
  std::string_view get_name(std::int32_t offset) const;

  std::string bytes_;
  FileAddress address_ = 0;
  RegisterNumbers registers_ = kX86Registers;
  Format format_ = Format::Go120;
  std::uint8_t quantum_ = 1;          // bytes of the smallest instruction
  std::uint64_t function_count_ = 0;  // number of functions
  FileAddress text_start_ = 0;        // address of the first function, if entries are relative
  FileAddress function_data_ = 0;     // 0: unknown
  mutable std::uint64_t steps_ = 0;
  std::uint64_t names_offset_ = 0, files_offset_ = 0, values_offset_ = 0,
                entries_offset_ = 0;  // offsets in the table
};

// Finds the table of a file. The table has no functions if the file is not a Go program or is
// damaged. Reads at most 128 MiB of the table, and 32 MiB of each data segment.
GoTable find_go_table(const ElfFile& file);
// The same, but shares one table per file while a user of it exists. Never null.
std::shared_ptr<const GoTable> get_shared_go_table(const ElfFile& file);

}  // namespace ctprof

// The modules whose code was met: files, the vDSO, the kernel, and code of no file; with the call
// frame information of each.
//
// A file is one module in all processes that map it, told by device and inode: nobody can pass off
// their own file for another's, as they could by its build id. It is opened when its code first
// occurs in a stack, and stays open, so that its inode is given to no other file, and names can be
// read of it later though it was replaced or deleted.
//
// What is here:   which modules there are, what they are called, rules out of them.
// What is not:    how a process's files are opened: whoever makes this says so.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "core/stacks/address_space.hpp"
#include "core/stacks/cfi.hpp"
#include "core/stacks/elf_file.hpp"
#include "core/stacks/stack_table.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// Opens the file that a process has mapped there, and had mapped by that path; nothing where it
// cannot. What it opens is read with pread(2), so it must not be a terminal or a pipe.
using OpenMapped =
    std::function<sdk::Fd(std::uint64_t process, const CodeRange& range, const std::string& path)>;

class Modules {
 public:
  static constexpr std::size_t kMost = 65536;
  // Always there.
  static constexpr std::uint32_t kUnknown = 0;
  static constexpr std::uint32_t kKernel = 1;

  explicit Modules(OpenMapped open);

  // The mapping, with the number of its module. kUnknown where there are too many.
  CodeRange range_of(std::uint64_t process, const Mapping& mapping);

  // The rule at a place in a module. Opens the file if it is not open, and may take milliseconds
  // then; afterwards it waits for nothing. Nothing where the file could not be opened, but may be
  // another time.
  std::optional<Rule> rule_at(std::uint64_t process, const CodeRange& range, std::uint64_t offset);

  std::size_t size() const { return known_.size(); }
  // What is known of it until now: the build id comes with its first rule.
  const Module& operator[](std::uint32_t module) const { return known_[module].module; }
  // Open, or null: it was not needed yet, could not be opened, or is no file.
  const ElfFile* file(std::uint32_t module) const { return known_[module].file.get(); }

 private:
  struct Known {
    Module module;
    sdk::Fd fd;
    std::unique_ptr<ElfFile> file;
    Cfi cfi;
    unsigned attempts = 0;
  };
  struct IdHash {
    std::size_t operator()(const FileId& id) const {
      return SeededHash()(id.inode ^ SeededHash()(id.device));
    }
  };

  std::uint32_t module_of(std::uint64_t process, const Mapping& mapping);
  template <class Numbers>
  std::uint32_t number_in(Numbers& numbers, const typename Numbers::key_type& key,
                          const Module& module);
  std::uint32_t add(const Module& module);
  void open(Known& known, std::uint64_t process, const CodeRange& range);
  void read(Known& known);

  OpenMapped open_;
  std::vector<Known> known_;
  std::unordered_map<FileId, std::uint32_t, IdHash> files_;
  std::unordered_map<std::uint64_t, std::uint32_t, SeededHash> anonymous_;
  std::uint32_t vdso_ = kUnknown;
  std::size_t bytes_ = 0;  // of call frame information
};

}  // namespace ctprof

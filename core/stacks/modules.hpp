// The modules whose code was met: files, the vDSO, the kernel, and code of no file; with the call
// frame information of each.
//
// A file is one module in all processes that map it, told by device, inode and version: nobody can
// pass off their own file for another's, as they could by its build id. A file that was written to
// between two mappings has several versions, each of which is a module. It is opened when its code
// first occurs in a stack, and stays open, so that its inode is given to no other file, and names
// can be read of it later though it was replaced or deleted.
//
// Files may be made to cause work, so FrameLimits bounds it: of a file, on behalf of a process, and
// in all. A place in a file whose budget is spent has a rule that ends its stack (Cfa::Unknown),
// and is counted. The call frame information in memory is bounded, too: the file that takes most of
// it is the first that loses it, so small files keep theirs whatever the others are like.
//
// What is here:   which modules there are, what they are called, rules out of them.
// What is not:    how a process's files are opened: whoever makes this says so.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "core/stacks/address_space.hpp"
#include "core/stacks/cfi.hpp"
#include "core/stacks/code_guess.hpp"
#include "core/stacks/elf_file.hpp"
#include "core/stacks/stack_table.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// The image of the vDSO, which is the same in all processes of a machine: our own.
std::string_view own_vdso();

// Opens the file that a process has mapped there, and had mapped by that path; nothing where it
// cannot. What it opens is read with pread(2), so it must not be a terminal or a pipe.
using OpenMapped =
    std::function<sdk::Fd(std::uint64_t process, const CodeRange& range, const std::string& path)>;

// Steps are those of Cfi; 100 million take less than half a second.
struct FrameLimits {
  // 300,000 places in GCC's compiler, all over its code, take 58 million.
  std::uint64_t steps_of_file = 64 << 20;
  std::uint64_t steps_of_process = 192 << 20;
  std::uint64_t steps = 1 << 30;
  // Of a process, also where others have spent the budget of a file, or that of all. It comes out
  // of a reserve, a quarter of `steps`.
  std::uint64_t assured = 1 << 20;
  // Of call frame information in memory: the libraries of a desktop come to 100 MiB.
  std::size_t bytes = 512 << 20;
  // Files that are opened because a process has mapped them; browsers have some hundred.
  std::size_t files_of_process = 4096;
  // The time that is spent on opening files and reading them, for file systems that are slow.
  std::chrono::nanoseconds opening = std::chrono::seconds(4);
};

class Modules {
 public:
  static constexpr std::size_t kMost = 65536;
  // Always there.
  static constexpr std::uint32_t kUnknown = 0;
  static constexpr std::uint32_t kKernel = 1;

  explicit Modules(OpenMapped open, const FrameLimits& limits = {});

  // The mapping, with the number of its module. kUnknown where there are too many.
  CodeRange range_of(std::uint64_t process, const Mapping& mapping);

  // The rule at a place in a module. Opens the file if it is not open, and may take milliseconds
  // then; afterwards it waits for nothing. Nothing where the file could not be opened, but may be
  // another time.
  std::optional<Rule> rule_at(std::uint64_t process, const CodeRange& range, std::uint64_t offset);

  // Where the caller's frame may be, by the code at a place in a file of x86-64 that is open. It is
  // within the limits of rules, and reads some kilobytes of the file. No rules: nothing is known.
  CodeGuess guess_at(std::uint64_t process, const CodeRange& range, std::uint64_t offset);
  // Whether a place in a file may be a return address: a call precedes it, or it is where signal
  // handlers return to.
  // Nothing: the code cannot be read. Opens the file like rule_at().
  std::optional<bool> follows_call(std::uint64_t process, const CodeRange& range,
                                   std::uint64_t offset);
  // Whether a frame is in the function where a program starts. REQUIRES: rule_at was called.
  bool is_start(const Frame& frame) const;

  // Whether glibc's __start_context begins there, by its code: functions of makecontext(3) return
  // to it, and nothing called it.
  bool is_start_context(std::uint32_t module, std::uint64_t offset) const;

  std::size_t size() const { return known_.size(); }
  // What is known of it until now: the build id comes with its first rule.
  const Module& operator[](std::uint32_t module) const { return known_[module].module; }
  // Open, or null: it was not needed yet, could not be opened, or is no file.
  const ElfFile* file(std::uint32_t module) const { return known_[module].file.get(); }
  // Whether the file is a program or library of 32 bits, of which no rule and no name is read.
  bool is_32_bit(std::uint32_t module) const {
    return known_[module].file && known_[module].file->is_32_bit();
  }
  // How often a rule was refused for one of the limits.
  std::uint64_t refused(std::uint32_t module) const { return known_[module].refused; }
  // The work that was done until now.
  std::uint64_t steps() const { return steps_; }
  // Refuses all rules from now on.
  void stop() { limits_ = {.steps = 0, .assured = 0}; }

 private:
  struct Known {
    Module module;
    sdk::Fd fd;
    std::unique_ptr<ElfFile> file;
    Cfi cfi;
    unsigned attempts = 0;
    std::uint64_t steps = 0;  // that were charged to it
    std::uint64_t code_steps = 0;
    std::uint64_t refused = 0;
    bool is_dropped = false;  // its call frame information, for others
  };
  // On behalf of a process.
  struct Spent {
    std::uint64_t steps = 0;
    std::size_t files = 0;
  };
  struct IdHash {
    std::size_t operator()(const FileId& id) const {
      return SeededHash()(id.inode ^ SeededHash()(id.device ^ SeededHash()(id.version)));
    }
  };

  std::uint32_t module_of(std::uint64_t process, const Mapping& mapping);
  template <class Numbers>
  std::uint32_t number_in(Numbers& numbers, const typename Numbers::key_type& key,
                          const Module& module);
  std::uint32_t add(const Module& module);
  bool can_open(const Spent& spent) const;
  void open(Known& known, std::uint64_t process, const CodeRange& range);
  void read(Known& known);
  void drop_largest();
  bool has_budget(const Known& known, const Spent& spent) const;
  void charge(Known& known, Spent& spent);
  // Code, as an offset in its file, and bytes on either side, which may be before its segment.
  struct Around {
    std::uint64_t offset;
    std::size_t before, behind;
  };
  // What surrounds code of a file that is within its budget, or empty.
  std::string code_of(Known& known, const Spent& spent, const Around& place);
  static Rule rule_in(const Known& known, std::uint64_t offset);
  static Rule refuse(Known& known);

  OpenMapped open_;
  FrameLimits limits_;
  std::vector<Known> known_;
  std::unordered_map<FileId, std::uint32_t, IdHash> files_;
  std::unordered_map<std::uint64_t, std::uint32_t, SeededHash> anonymous_;
  std::uint32_t vdso_ = kUnknown;
  std::size_t bytes_ = 0;  // of call frame information
  std::uint64_t steps_ = 0;
  std::chrono::nanoseconds opening_{0};
  std::unordered_map<std::uint64_t, Spent, SeededHash> spent_;  // by process
};

}  // namespace ctprof

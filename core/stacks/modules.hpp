// Manages the modules whose code appears in stacks: files, the vDSO, the kernel, and code without a
// file; with the call frame information of each.
//
// A file is one module in all processes that map it. It is identified by device, inode and version,
// not by its build id, so no user can present another file as this one. A file that was written
// between two mappings has several versions, each of which is a module. A file is opened when its
// code first occurs in a stack, and stays open: its inode is not reused, and names can be read
// later even if the file was replaced or deleted.
//
// A hostile file can cause work, so FrameLimits limits the work per file, per process and in total.
// An address in a file whose budget is used up gets a rule that ends its stack (Cfa::Unknown), and
// is counted. Memory for call frame information is limited, too: the file that uses most of this
// memory loses its information first, so small files keep theirs.
//
// Contents:  the modules, their names, and their unwind rules. The creator of Modules supplies the
//            function that opens the files of a process.

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
#include "core/elf/elf_file.hpp"
#include "core/stacks/address_space.hpp"
#include "core/stacks/cfi.hpp"
#include "core/stacks/code_guess.hpp"
#include "core/stacks/stack_table.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// Returns the image of the vDSO of this process, which is the same in all processes of a host.
std::string_view get_own_vdso();

// Opens the file that a process has mapped at `range` under this path; returns nothing on failure.
// The file is read with pread(2), so it must not be a terminal or a pipe.
using OpenMappedFile =
    std::function<sdk::Fd(std::uint64_t process, const CodeRange& range, const std::string& path)>;

// Limits on the work for call frame information. Steps are those of Cfi; 100 million take less than
// half a second.
struct FrameLimits {
  // Looking up 300,000 places all over the code of GCC's compiler takes 58 million steps.
  std::uint64_t steps_per_file = 64 << 20;
  std::uint64_t steps_per_process = 192 << 20;
  std::uint64_t steps = 1 << 30;
  // Steps that each process may always use, even if others have spent the budget of a file or the
  // total budget. They come from a reserve, a quarter of `steps`.
  std::uint64_t assured_steps_per_process = 1 << 20;
  // Limit on call frame information in memory; the libraries of a desktop need 100 MiB.
  std::size_t max_bytes = 512 << 20;
  // Limit on files that are opened because a process has mapped them; browsers map some hundred.
  std::size_t files_per_process = 4096;
  // Limit on the time for opening and reading files, because file systems may be slow.
  std::chrono::nanoseconds max_opening_time = std::chrono::seconds(4);
};

class Modules {
 public:
  static constexpr std::size_t kMaxModules = 65536;
  // These two modules always exist.
  static constexpr std::uint32_t kUnknown = 0;
  static constexpr std::uint32_t kKernel = 1;

  explicit Modules(OpenMappedFile open_mapped, const FrameLimits& limits = {});

  // Returns the mapping with its module number; kUnknown if the limit of modules is reached.
  CodeRange make_code_range(std::uint64_t process, const Mapping& mapping);

  // Returns the rule at an offset in a module. The first call for a file opens it and may take
  // milliseconds; later calls do not block. Returns nothing if the file could not be opened but a
  // later attempt may succeed.
  std::optional<UnwindRule> find_rule(std::uint64_t process, const CodeRange& range,
                                      std::uint64_t offset);

  // Derives possible locations of the caller's frame from the code at an offset in an open x86-64
  // file. It is subject to the limits of rules and reads some kilobytes of the file. Without rules
  // in the result, nothing could be derived.
  CodeGuess guess_frame(std::uint64_t process, const CodeRange& range, std::uint64_t offset);
  // Returns whether an offset in a file may be a return address: a call precedes it, or signal
  // handlers return to it. Returns nothing if the code cannot be read. Opens the file like
  // find_rule().
  std::optional<bool> follows_call(std::uint64_t process, const CodeRange& range,
                                   std::uint64_t offset);
  // Returns whether a frame is in the function where a program starts. REQUIRES: find_rule() was
  // called.
  bool is_program_start(const Frame& frame) const;

  // Returns whether the code at `offset` is the start of glibc's __start_context. Functions of
  // makecontext(3) return to it, and no function calls it.
  bool is_start_context(std::uint32_t module, std::uint64_t offset) const;

  std::size_t size() const { return known_.size(); }
  // Returns the module as known so far; its build id becomes known with its first rule.
  const Module& operator[](std::uint32_t module) const { return known_[module].module; }
  // Returns the open file. Null if the file was not needed yet, could not be opened, or is not a
  // file.
  const ElfFile* file(std::uint32_t module) const { return known_[module].file.get(); }
  // Returns whether the file is a 32-bit program or library; it has no rules and no names.
  bool is_32_bit(std::uint32_t module) const {
    return known_[module].file && known_[module].file->is_32_bit();
  }
  // Returns how many rules were refused because of a limit.
  std::uint64_t count_refused_rules(std::uint32_t module) const { return known_[module].refused; }
  // Returns the number of steps so far.
  std::uint64_t steps() const { return steps_; }
  // Refuses all rules from now on.
  void refuse_all_rules() { limits_ = {.steps = 0, .assured_steps_per_process = 0}; }

 private:
  struct KnownModule {
    Module module;
    sdk::Fd fd;
    std::unique_ptr<ElfFile> file;
    Cfi cfi;
    unsigned attempts = 0;
    std::uint64_t steps = 0;  // charged to this module
    std::uint64_t code_steps = 0;
    std::uint64_t refused = 0;
    bool is_dropped = false;  // to free memory for other modules
  };
  // The work on behalf of one process.
  struct ProcessWork {
    std::uint64_t steps = 0;
    std::size_t files = 0;
  };
  struct IdHash {
    std::size_t operator()(const FileId& id) const {
      return SeededHash()(id.inode ^ SeededHash()(id.device ^ SeededHash()(id.version)));
    }
  };

  std::uint32_t find_or_add_module(std::uint64_t process, const Mapping& mapping);
  template <class Numbers>
  std::uint32_t find_or_add_number(Numbers& numbers, const typename Numbers::key_type& key,
                                   const Module& module);
  std::uint32_t add_module(const Module& module);
  bool can_open(const ProcessWork& work) const;
  void open(KnownModule& known, std::uint64_t process, const CodeRange& range);
  void read_call_frames(KnownModule& known);
  void drop_largest();
  bool has_budget(const KnownModule& known, const ProcessWork& work) const;
  void charge(KnownModule& known, ProcessWork& work);
  // Code at a file offset, and the number of bytes on both sides, which may begin before the
  // segment.
  struct CodeWindow {
    std::uint64_t offset;
    std::size_t bytes_before, bytes_after;
  };
  // Reads the code of a file that is within its budget; empty otherwise.
  std::string read_code(KnownModule& known, const ProcessWork& work, const CodeWindow& place);
  static UnwindRule find_rule_in(const KnownModule& known, std::uint64_t offset);
  static UnwindRule refuse_rule(KnownModule& known);

  OpenMappedFile open_;
  FrameLimits limits_;
  std::vector<KnownModule> known_;
  std::unordered_map<FileId, std::uint32_t, IdHash> files_;
  std::unordered_map<std::uint64_t, std::uint32_t, SeededHash> anonymous_;
  std::uint32_t vdso_ = kUnknown;
  std::size_t call_frame_bytes_ = 0;  // of call frame information
  std::uint64_t steps_ = 0;
  std::chrono::nanoseconds opening_time_{0};
  std::unordered_map<std::uint64_t, ProcessWork, SeededHash> work_by_process_;
};

}  // namespace ctprof

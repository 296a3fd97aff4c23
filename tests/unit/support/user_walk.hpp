// Compiles the stack walk of the BPF programs (plugins/shared/user_walk.h) for user space. It walks
// a copy of a stack with tables that pack_rules() made.

#pragma once

#include <linux/types.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/elf/elf_file.hpp"
#include "core/stacks/unwind_table.hpp"
#include "core/stacks/unwinder.hpp"

namespace ctprof::user_walk {

// The header is C, and other targets compile it as C.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "plugins/shared/walk_state.h"

static int walk_find_code(struct walk* walk, __u64 ip);
static struct ctprof_unwind_rule walk_find_rule(struct walk* walk, __u64 place);
static int walk_read(struct walk* walk, __u64 address, __u64* value);
static int walk_read_code(struct walk* walk, __u64 address, __u64* value);
static void walk_store_frame(struct walk* walk, __u32 number, __u64 frame);

#include "plugins/shared/user_walk.h"
#pragma GCC diagnostic pop

// Executable memory of a process, and the unwind table of the module that is mapped there.
struct Code {
  CodeRange range;
  const UnwindTable* table = nullptr;  // null although `file` is set: the module has no table
  bool is_of_file = false;
  const ElfFile* file = nullptr;  // contains the code
};

class UserWalk : public walk {
 public:
  enum class End { Root, TooDeep, Failed };

  UserWalk(const std::vector<Code>& code, const StackCopy& stack) : code_(code), stack_(stack) {}

  // `is_eager` selects the behaviour of the Unwinder: the walk stops at a frame pointer that cannot
  // be read, even if no rule needs it.
  End run(const Registers& registers, std::size_t most, bool is_eager) {
    frames_.clear();
    walk_begin(this, registers.ip, registers.sp, registers.bp);
    for (;;) {
      const walk_status end = walk_step(this);
      __u64 caller_bp = 0;
      if (end == WALK_GIVES_UP) return End::Failed;
      // A root frame has no caller.
      const bool has_caller = end == WALK_CONTINUES || ip == 0;
      if (is_eager && has_caller && !walk_read_bp(this, &caller_bp)) return End::Failed;
      if (end == WALK_ROOT) return End::Root;
      if (frames_.size() >= most) return End::TooDeep;
    }
  }
  // Returns the frames in the format of the Unwinder.
  std::vector<Frame> frames() const {
    constexpr std::uint64_t kOffsets = (std::uint64_t{1} << WALK_FRAME_TABLE_SHIFT) - 1;
    constexpr std::uint64_t kFlags = WALK_FRAME_ADDRESS | WALK_FRAME_GUESSED;
    std::vector<Frame> frames;
    for (const std::uint64_t word : frames_) {
      const bool is_guessed = (word & WALK_FRAME_GUESSED) != 0;
      if ((word & WALK_FRAME_ADDRESS) != 0)
        frames.push_back({word & ~kFlags, module_at(word & ~kFlags), is_guessed});
      else
        frames.push_back({word & kOffsets,
                          static_cast<std::uint32_t>((word & ~kFlags) >> WALK_FRAME_TABLE_SHIFT),
                          is_guessed});
    }
    return frames;
  }

  // --- called by the functions below ---
  const Code* find(std::uint64_t address) const {
    for (const Code& at : code_)
      if (address >= at.range.start && address < at.range.end) return &at;
    return nullptr;
  }
  const Code* current() const { return current_; }
  bool select_code(std::uint64_t address) {
    current_ = find(address);
    return current_ && (current_->table || !current_->is_of_file);
  }
  bool read(std::uint64_t address, std::uint64_t& value) const {
    return stack_.read(address, value);
  }
  bool read_code(std::uint64_t address, std::uint64_t& value) const {
    const CodeRange& range = current_->range;
    const std::uint64_t offset = address - range.start + range.offset;
    if (!current_->file || address < range.start || address >= range.end) return false;
    const std::string bytes = current_->file->read_bytes(offset, sizeof value, sizeof value);
    if (bytes.size() < sizeof value) return false;
    std::memcpy(&value, bytes.data(), sizeof value);
    return true;
  }
  void add_frame(std::uint64_t frame) { frames_.push_back(frame); }

 private:
  std::uint32_t module_at(std::uint64_t address) const {
    const Code* at = find(address);
    return at ? at->range.module : Modules::kUnknown;
  }

  const std::vector<Code>& code_;
  StackCopy stack_;
  const Code* current_ = nullptr;
  std::vector<std::uint64_t> frames_;
};

// The number of a table is the number of its module.
static int walk_find_code(struct walk* walk, __u64 ip) {
  auto& self = *static_cast<UserWalk*>(walk);
  if (!self.select_code(ip)) return 0;
  const CodeRange& range = self.current()->range;
  walk->code.start = range.start;
  walk->code.end = range.end;
  walk->code.address_shift = range.start - range.offset;
  walk->code.table = self.current()->is_of_file ? range.module : 0;
  return 1;
}

static struct ctprof_unwind_rule walk_find_rule(struct walk* walk, __u64 place) {
  const Code* at = static_cast<UserWalk*>(walk)->current();
  return at->table ? at->table->find_rule(place)
                   : ctprof_unwind_rule{CTPROF_UNWIND_NONE, CTPROF_UNWIND_SAME, 0, 0};
}

static int walk_read(struct walk* walk, __u64 address, __u64* value) {
  std::uint64_t word = 0;
  const bool is_read = static_cast<UserWalk*>(walk)->read(address, word);
  *value = word;
  return is_read ? 1 : 0;
}

static int walk_read_code(struct walk* walk, __u64 address, __u64* value) {
  std::uint64_t word = 0;
  const bool is_read = static_cast<UserWalk*>(walk)->read_code(address, word);
  *value = word;
  return is_read ? 1 : 0;
}

static void walk_store_frame(struct walk* walk, __u32, __u64 frame) {
  static_cast<UserWalk*>(walk)->add_frame(frame);
}

}  // namespace ctprof::user_walk

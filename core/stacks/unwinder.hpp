// Computes the frames of a stack from registers and a copy of the top of the stack, by the rules of
// call frame information. It neither stops threads nor attaches to them.
//
// A frame with a cached rule takes some 15 ns. Code without call frame information (musl's libc,
// assembly) is followed to its return instruction; otherwise (just-in-time compilers) the chain of
// frame pointers is followed. Such frames are marked as guessed.
//
// Registers and copy are untrusted: nothing outside the copy is read, each frame must be further up
// the stack than the one before, and their number is limited.
//
// Threads: not thread-safe.

#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "core/stacks/address_space.hpp"
#include "core/stacks/modules.hpp"
#include "core/stacks/rule_cache.hpp"
#include "core/stacks/stack_table.hpp"

namespace ctprof {

struct Registers {
  std::uint64_t ip = 0;
  std::uint64_t sp = 0;
  std::uint64_t bp = 0;  // x86-64: rbp; AArch64: x29
  std::uint64_t lr = 0;  // AArch64: x30; x86-64: rdi, or 0 if it is unknown
};

// A copy of the stack memory that begins at `start`.
struct StackCopy {
  std::uint64_t start = 0;
  std::string_view bytes;

  bool read(std::uint64_t address, std::uint64_t& value) const {
    if (bytes.size() < sizeof value || address - start > bytes.size() - sizeof value) return false;
    std::memcpy(&value, bytes.data() + (address - start), sizeof value);
    return true;
  }
};

#ifdef __aarch64__
inline constexpr std::uint16_t kOwnMachine = EM_AARCH64;
#else
inline constexpr std::uint16_t kOwnMachine = EM_X86_64;
#endif

class Unwinder {
 public:
  // A compiler recurses through some 300 frames. A walk in the kernel stores no more
  // (WALK_MAX_FRAMES).
  static constexpr std::size_t kMaxFrames = 511;

  // `modules` must outlive this object.
  explicit Unwinder(Modules& modules, std::uint16_t machine = kOwnMachine);

  // Writes the frames, leaf first, at most `max_frames`, and at least one.
  WalkEnd walk(const AddressSpace& space, const Registers& registers, const StackCopy& stack,
               std::vector<Frame>& frames, std::size_t max_frames = kMaxFrames);

  // Converts addresses to frames, such as those that the kernel finds by frame pointers: leaf
  // first, callers by their return addresses. Stops before the first address outside of code, which
  // is data mistaken for a frame. Returns Root if the last frame is a function where threads start.
  WalkEnd make_frames(const AddressSpace& space, const std::vector<std::uint64_t>& addresses,
                      std::vector<Frame>& frames);

  const RuleCache& rules() const { return rules_; }

 private:
  friend class Walk;

  // The reference is valid until the next call.
  const UnwindRule& find_rule(std::uint64_t process, const CodeRange& range, std::uint64_t offset);
  const CodeGuess& find_guess(std::uint64_t process, const CodeRange& range, std::uint64_t offset);
  std::optional<bool> follows_call(std::uint64_t process, const CodeRange& range,
                                   std::uint64_t offset);

  // Limit on cached addresses per kind; the cache is cleared at the limit.
  static constexpr std::size_t kMaxGuesses = 1 << 16;

  Modules& modules_;
  RuleCache rules_;
  std::unordered_map<std::uint64_t, CodeGuess, SeededHash> guesses_;  // by rule key
  std::unordered_map<std::uint64_t, bool, SeededHash> follows_call_;  // by rule key
  std::uint64_t address_mask_;  // the bits of an AArch64 address without its signature
};

}  // namespace ctprof

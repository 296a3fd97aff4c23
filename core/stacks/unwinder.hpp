// From registers and a copy of the top of a stack to its frames, by the rules of call frame
// information. Nobody is stopped or attached to.
//
// A frame whose rule was looked up before costs some 15 ns. Where code has no call frame
// information, the code itself is followed to its return (musl's libc, assembly), or the chain of
// frame pointers is (a just-in-time compiler's). What is found that way is marked as guessed.
//
// Registers and copy may be anything: nothing outside of the copy is read, each frame must be
// further up the stack than the one before, and there is a limit to their number.
//
// Threads: one at a time.

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
  std::uint64_t lr = 0;  // AArch64: x30; x86-64: rdi, or 0 where it is unknown
};

// A copy of a stack's memory from `start` on.
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
  static constexpr std::size_t kMostFrames = 127;

  // `modules` outlives it.
  explicit Unwinder(Modules& modules, std::uint16_t machine = kOwnMachine);

  // Fills in the frames, leaf first, at most `most` of them. There is always one.
  Ending walk(const AddressSpace& space, const Registers& registers, const StackCopy& stack,
              std::vector<Frame>& frames, std::size_t most = kMostFrames);

  // The frames of addresses that somebody else found, as the kernel does by frame pointers: leaf
  // first, callers by their return addresses. They end before the first address outside of code,
  // which is data that was taken for a frame. Root: the last one is a function where threads start.
  Ending place(const AddressSpace& space, const std::vector<std::uint64_t>& addresses,
               std::vector<Frame>& frames);

  const RuleCache& rules() const { return rules_; }

 private:
  friend class Walk;

  // Lives until the next call.
  const Rule& rule_at(std::uint64_t process, const CodeRange& range, std::uint64_t offset);
  const CodeGuess& guess_at(std::uint64_t process, const CodeRange& range, std::uint64_t offset);
  std::optional<bool> follows_call(std::uint64_t process, const CodeRange& range,
                                   std::uint64_t offset);

  // Places of each kind that are remembered; then it starts anew.
  static constexpr std::size_t kMostGuesses = 1 << 16;

  Modules& modules_;
  RuleCache rules_;
  std::unordered_map<std::uint64_t, CodeGuess, SeededHash> guesses_;  // by key of a rule
  std::unordered_map<std::uint64_t, bool, SeededHash> calls_;         // whether a call is before it
  std::uint64_t address_mask_;  // of AArch64's addresses, what is no signature
};

}  // namespace ctprof

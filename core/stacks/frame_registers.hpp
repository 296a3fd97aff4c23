// The locations of a frame's CFA and registers at one position of a program of call frame
// information, and the instructions that change them.
//
// See also: frame_program.hpp (runs programs).

#pragma once

#include <cstdint>
#include <string_view>

#include "core/elf/byte_cursor.hpp"
#include "core/stacks/frame_entries.hpp"
#include "core/stacks/rule.hpp"

namespace ctprof {

// The state at one position of a program.
struct FrameState {
  struct SavedRegister {
    RegisterLocation saved = RegisterLocation::Unknown;
    std::int64_t offset = 0;
  };

  // The DWARF number of the CFA's register; sp and bp override `cfa`.
  std::uint64_t cfa_register = UINT64_MAX;
  Cfa cfa = Cfa::Unknown;
  std::int64_t cfa_offset = 0;
  std::int64_t cfa_added = 0;
  SavedRegister ra, bp;
};

// Applies instructions to a state. The arguments must outlive it.
class FrameRegisters {
 public:
  // `address`: the request, which expressions may depend on.
  FrameRegisters(const CommonEntry& common, const RegisterNumbers& registers, FileAddress address);

  const FrameState& state() const { return state_; }
  void set_state(const FrameState& state) { state_ = state; }
  // Makes the current state the one that later instructions restore registers from.
  void keep_as_initial() { initial_ = state_; }
  // Returns whether any state depended on the address.
  bool uses_address() const { return uses_address_; }

  // Reads the operands of an instruction and applies it. Returns false if it is unknown. REQUIRES:
  // it neither changes the location nor remembers or restores states.
  bool apply(std::uint8_t instruction, ByteCursor& code);

  // Returns Cfa::Unknown if a number of the state does not fit into a rule.
  UnwindRule make_rule() const;

 private:
  Cfa get_cfa() const;
  void define_cfa(std::uint8_t instruction, ByteCursor& code);
  void compute_cfa(std::string_view expression);
  void set_register(std::uint8_t instruction, ByteCursor& code);
  void move_register(std::uint64_t number, std::uint64_t source);
  FrameState::SavedRegister* find_register(std::uint64_t number);
  void set_saved(std::uint64_t number, const FrameState::SavedRegister& saved);
  void save(std::uint64_t number, std::int64_t offset);
  void restore(std::uint64_t number);
  void set_from_expression(std::uint64_t number, std::string_view expression, bool is_value);

  const CommonEntry& common_;
  const RegisterNumbers& registers_;
  FileAddress address_;
  FrameState state_;
  FrameState initial_;
  bool uses_address_ = false;
};

}  // namespace ctprof

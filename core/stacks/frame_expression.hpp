// Expressions of call frame information, so far as they come to a register and a distance.
//
// Compilers and hand-written assembly use few: what is stored at bp - 8 (a realigned main), at
// sp + 160 (a signal's frame), at sp + 152 and 8 more (OpenSSL), and the stubs of a procedure
// linkage table, whose CFA depends on the address that runs. The last is a constant once that
// address is given.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/stacks/elf_file.hpp"
#include "core/stacks/rule.hpp"

namespace ctprof {

struct FrameValue {
  enum class Base : std::uint8_t { Constant, Sp, Bp, Cfa };

  Base base = Base::Constant;
  bool is_stored = false;  // what is stored at base + offset, instead of that itself
  std::int64_t offset = 0;
  std::int64_t added = 0;  // to what is stored
};

// What the expression comes to in code at `address`; `on_cfa`: it begins with the CFA on its stack.
// Nothing where it is anything else, or broken. Sets `uses_address` where the result may be another
// one for another address.
std::optional<FrameValue> evaluate(std::string_view expression, FileAddress address, bool on_cfa,
                                   const RegisterNumbers& registers, bool& uses_address);

}  // namespace ctprof

// Evaluates expressions of call frame information whose result is a register plus a distance.
//
// Compilers and hand-written assembly use few kinds: a value stored at bp - 8 (a realigned main) or
// at sp + 160 (a signal frame), the value stored at sp + 152 plus 8 (OpenSSL), and the stubs of a
// procedure linkage table, whose CFA depends on the current address and is constant for a fixed
// address.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/elf/elf_file.hpp"
#include "core/stacks/rule.hpp"

namespace ctprof {

struct FrameValue {
  enum class Base : std::uint8_t { Constant, Sp, Bp, Cfa };

  Base base = Base::Constant;
  bool is_stored = false;  // the value is stored at base + offset; otherwise it is base + offset
  std::int64_t offset = 0;
  std::int64_t added = 0;  // added to the stored value
};

// Returns the value of the expression for code at `address`; `starts_with_cfa`: the CFA is
// initially on its stack. Returns nothing for any other kind of value or a broken expression. Sets
// `uses_address` if the result may differ for another address.
std::optional<FrameValue> evaluate_expression(std::string_view expression, FileAddress address,
                                              bool starts_with_cfa,
                                              const RegisterNumbers& registers, bool& uses_address);

}  // namespace ctprof

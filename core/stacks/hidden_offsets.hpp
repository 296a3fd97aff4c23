// Replaces addresses by numbers, for tables of stacks whose readers must not learn where the kernel
// or generated code is in memory. Kernel addresses are valid for one boot: they help attacks on
// that host, and show that two files are from the same boot.
//
//   HiddenOffsets hidden;
//   other.add_frame(hidden.hide_offset(table.modules()[frame.module], frame));
//
// See also: core/redact, which replaces names too.
//
// Threads: not thread-safe.

#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>

#include "core/base/seeded_hash.hpp"
#include "core/stacks/stack_table.hpp"

namespace ctprof {

class HiddenOffsets {
 public:
  // Returns whether offsets in modules of this kind are addresses in memory.
  static bool are_addresses(Module::Kind kind);
  // Returns the name for an unnamed frame whose number has no meaning, such as "[kernel]".
  // REQUIRES: are_addresses(kind).
  static std::string_view get_placeholder_name(Module::Kind kind);

  // Returns the frame. If its offset is an address, the result has the number of that place in its
  // module instead, in the order of the calls; different frames stay different.
  Frame hide_offset(const Module& module, Frame frame);

 private:
  std::map<std::uint32_t, std::unordered_map<std::uint64_t, std::uint64_t, SeededHash>> places_;
};

// Returns the table with numbers instead of all addresses. Frames and nodes keep their numbers.
StackTable replace_addresses(const StackTable& table);

}  // namespace ctprof

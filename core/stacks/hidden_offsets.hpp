// Numbers in place of addresses, for tables of stacks that are read by people who may not know
// where the kernel, or code that a program generated, is in memory: addresses of a kernel hold for
// one boot, so they help attacks on that host, and show that two files are of one boot.
//
//   HiddenOffsets hidden;
//   other.add_frame(hidden.of(table.modules()[frame.module], frame));
//
// See also: core/redact, which replaces names too.
//
// Threads: one at a time.

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
  // Whether offsets in modules of that kind are addresses in memory.
  static bool are_addresses(Module::Kind kind);
  // The name of a frame that has none, since its number means nothing: "[kernel]". REQUIRES:
  // are_addresses(kind).
  static std::string_view name_of(Module::Kind kind);

  // The frame. Where its offset is an address, it has the number of that place in its module
  // instead, in the order in which places were passed in; frames that were different stay so.
  Frame of(const Module& module, Frame frame);

 private:
  std::map<std::uint32_t, std::unordered_map<std::uint64_t, std::uint64_t, SeededHash>> places_;
};

// The table with numbers in place of all addresses. Frames and nodes keep their numbers.
StackTable without_addresses(const StackTable& table);

}  // namespace ctprof

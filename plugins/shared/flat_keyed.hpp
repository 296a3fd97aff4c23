// Text of lines `key value`: cpu.stat, memory.stat, memory.events and others of a cgroup,
// root/events of sched_ext.
//
// The kernel calls such files flat keyed. Keys are added from version to version, so whoever wants
// all takes what is there.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ctprof/batch.hpp"

namespace ctprof {

// All lines, as views into `text`. False when one is no key, a space and a number, or there is
// none.
bool parse_flat_keyed(std::string_view text, std::vector<ctprof_entry>& entries);

// The value of one key: Unsupported when no line has it, Malformed when it is no number.
sdk::Reading<std::uint64_t> flat_value(std::string_view text, std::string_view key);

}  // namespace ctprof

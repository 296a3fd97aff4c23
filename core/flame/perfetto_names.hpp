// Writes the packets of a trace of Perfetto that give names to numbers: processes and threads,
// mappings and frames, and stacks. They precede the samples that refer to them.
//
// Numbers are those of the table of stacks plus one, because 0 means none.

#pragma once

#include <cstdint>
#include <vector>

#include "core/flame/perfetto_packets.hpp"
#include "core/flame/stack_profile.hpp"
#include "core/stacks/stack_table.hpp"

namespace ctprof::perfetto {

// `tasks`: the ids of each owner of the profile.
void write_processes(PacketBuffer& packets, const StackProfile& profile,
                     const std::vector<TaskIds>& tasks);

// Writes the mappings and frames of a table.
void write_frames(PacketBuffer& packets, const StackTable& table);

// Writes one stack of the table.
void write_stack(PacketBuffer& packets, const StackTable& table, std::uint64_t stack);

}  // namespace ctprof::perfetto

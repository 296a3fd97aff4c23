// Formats the waits of a snapshot with stacks of sleeping threads: a line for each stack of a
// group, ordered by number of threads.
//
//     64 threads  idle: do_epoll_wait ← epoll_wait ← event_loop ← … (4 more)
//
// Frames of the kernel's system call entry, which every stack has, are omitted.
//
// See also: stacks_text.hpp, stacks_json.hpp (stacks of windows; the same data as tables and JSON).

#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// Empty if the report has no such stacks. `rows`: number of lines, 0: all; nothing: a default.
std::string format_sleeping_stacks(const Report& report, const TextLayout& layout,
                                   const std::optional<std::size_t>& rows);

}  // namespace ctprof

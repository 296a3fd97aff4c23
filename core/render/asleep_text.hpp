// What everybody waits for, of a snapshot with stacks of those who sleep: a line for each stack of
// a group, the most threads first.
//
//     64 threads  idle: do_epoll_wait ← epoll_wait ← event_loop ← … (4 more)
//
// Frames between a system call and its caller, which every stack has, are not told here.
//
// Not here: stacks of windows, and the same as tables and in JSON (stacks_text.hpp,
// stacks_json.hpp).

#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/compare/report/report.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {

// Empty if the report is of anything else. `rows`: of lines, 0: all; none: a few.
std::string asleep_text(const Report& report, const TextLayout& layout,
                        const std::optional<std::size_t>& rows);

}  // namespace ctprof

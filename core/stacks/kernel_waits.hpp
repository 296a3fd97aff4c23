// What a thread was doing in the kernel, in one word: the system call, from its kernel frames.
//
//   __schedule ← schedule ← futex_do_wait ← ... ← __x64_sys_futex ← do_syscall_64     "futex"
//   ... ← handle_mm_fault ← exc_page_fault ← asm_exc_page_fault                       "page fault"
//
// Readers look for the application's function; how the kernel puts a thread to sleep is the same
// in every program.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/stacks/stack_table.hpp"

namespace ctprof {

// The word that a kernel function has by itself: "fsync" of __x64_sys_fsync. Empty: none.
std::string kernel_word(std::string_view function);

// Whether a thread that is in this call waits for something to do: for input (poll, epoll), time
// (nanosleep, pause), or a child (wait4).
bool is_idle_call(std::string_view word);

// Whether the function belongs to a wait for a lock: a futex, a mutex or semaphore of the kernel.
bool waits_for_lock(std::string_view function);

// Whether the kernel's function is part of how programs enter it, on x86-64 and AArch64. It
// precedes every system call and says nothing of it.
bool is_entry_code(std::string_view function);

// By node of the table: whether a function for which the predicate is true is in its stack.
std::vector<bool> nodes_below(const StackTable& table,
                              const std::function<bool(std::string_view)>& predicate);

}  // namespace ctprof

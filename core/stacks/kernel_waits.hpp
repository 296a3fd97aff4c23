// Describes what a thread does in the kernel in one word: the system call, from its kernel frames.
//
//   __schedule ← schedule ← futex_do_wait ← ... ← __x64_sys_futex ← do_syscall_64     "futex"
//   ... ← handle_mm_fault ← exc_page_fault ← asm_exc_page_fault                       "page fault"
//
// Readers look for the function of the application. The kernel functions that put a thread to sleep
// are the same in every program.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/stacks/stack_table.hpp"

namespace ctprof {

// Returns the word for a kernel function: "fsync" for __x64_sys_fsync; empty if it has none.
std::string get_kernel_word(std::string_view function);

// Returns whether a thread in this call is idle: it waits for input (poll, epoll), for time to pass
// (nanosleep, pause), or for a child (wait4).
bool is_idle_call(std::string_view word);

// Returns whether the call returns after the disk has written data of files: fsync and similar
// ones.
bool is_sync_call(std::string_view word);

// Returns whether the function is part of a wait for a lock: a futex, a mutex or semaphore of the
// kernel.
bool is_lock_wait(std::string_view function);

// Returns whether a thread in this function of a library waits for a condition: for work, a message
// or the exit of a thread. The kernel part of its stack is the same as that of a wait for a lock.
bool is_condition_wait(std::string_view function);

// Returns whether this function of a run-time environment waits for a lock by means of a condition.
bool is_condition_lock(std::string_view function);

// Returns whether this function locks. Without such a function in the stack, a long wait for a
// futex can also be a wait for work.
bool is_lock_function(std::string_view function);

// Returns whether a kernel function is part of the entry code, on x86-64 and AArch64. It precedes
// every system call and does not depend on the call.
bool is_entry_code(std::string_view function);

// Returns for each node of the table whether its stack contains a function that matches the
// predicate.
std::vector<bool> find_nodes_below(const StackTable& table,
                                   const std::function<bool(std::string_view)>& predicate);

// Returns for each node of the table whether its stack waits for a lock, not for a condition.
std::vector<bool> find_lock_waits(const StackTable& table);
// Returns for each node of the table whether its stack is in a call of is_sync_call().
std::vector<bool> find_sync_waits(const StackTable& table);
// The same as find_lock_waits() for stacks that also contain a function that locks.
std::vector<bool> find_lock_function_waits(const StackTable& table);

}  // namespace ctprof

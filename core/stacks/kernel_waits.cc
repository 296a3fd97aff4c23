#include "core/stacks/kernel_waits.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace ctprof {
namespace {

// Prefixes of the kernel's system call entry points on x86-64 and AArch64.
constexpr std::array<std::string_view, 6> kSystemCallPrefixes{
    "__x64_sys_", "__ia32_sys_", "__arm64_sys_", "__do_sys_", "__se_sys_", "ksys_"};
constexpr std::array<std::string_view, 4> kPageFaultFunctions{
    "exc_page_fault", "asm_exc_page_fault", "do_page_fault", "do_mem_abort"};
constexpr std::array<std::string_view, 17> kIdleCalls{
    "poll",         "ppoll",     "select", "pselect6",        "epoll_wait",      "epoll_pwait",
    "epoll_pwait2", "nanosleep", "pause",  "clock_nanosleep", "rt_sigtimedwait", "rt_sigsuspend",
    "wait4",        "waitid",    "accept", "accept4",         "io_getevents"};
constexpr std::array<std::string_view, 6> kSyncCalls{"fsync",  "fdatasync", "sync",
                                                     "syncfs", "msync",     "sync_file_range"};
constexpr std::array<std::string_view, 7> kLockWaitPrefixes{
    "futex_wait",  "futex_do_wait", "__futex_wait",     "__mutex_lock",
    "rwsem_down_", "__down_",       "rt_mutex_slowlock"};
// Functions of glibc, libstdc++, Go, Java and Rust in which a thread waits for work, for a message
// or for another thread to exit. They end in the same kernel function as a wait for a lock.
// Without leading underscores: some functions within glibc have no other name, and files of earlier
// versions have reserved names such as ___pthread_cond_wait.
constexpr std::array<std::string_view, 15> kConditionWaitPrefixes{"pthread_cond_",
                                                                  "sem_wait",
                                                                  "sem_timedwait",
                                                                  "sem_clockwait",
                                                                  "new_sem_",
                                                                  "do_futex_wait",
                                                                  "pthread_join",
                                                                  "pthread_clockjoin",
                                                                  "pthread_barrier_",
                                                                  "runtime.notesleep",
                                                                  "std::condition_variable",
                                                                  "runtime.notetsleep",
                                                                  "Parker::park",
                                                                  "std::thread::park",
                                                                  "std::sys::sync::condvar"};
// Functions that lock, of glibc and the kernel, without leading underscores: the functions that
// they call internally have up to three.
constexpr std::array<std::string_view, 5> kLockFunctionPrefixes{
    "pthread_mutex_", "pthread_rwlock_", "lll_lock_wait", "mutex_lock", "rwsem_down_"};
// Functions that wait for a lock by means of a condition variable: of Python and Java.
constexpr std::array<std::string_view, 2> kConditionLockPrefixes{"take_gil",
                                                                 "ObjectMonitor::enter"};

// All entry points of AArch64 start with "el0": el0_svc, el0t_64_sync.
constexpr std::array<std::string_view, 7> kEntryCodePrefixes{
    "entry_SYSCALL_64", "do_syscall_64", "x64_sys_call", "asm_sysvec", "el0",
    "invoke_syscall",   "do_el0_svc"};

bool starts_with_one_of(std::string_view function, std::span<const std::string_view> words) {
  return std::ranges::any_of(words,
                             [&](std::string_view word) { return function.starts_with(word); });
}

std::string_view remove_underscores(std::string_view function) {
  return function.substr(std::min(function.find_first_not_of('_'), function.size()));
}

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

std::string get_kernel_word(std::string_view function) {
  for (const std::string_view entry : kSystemCallPrefixes)
    if (function.starts_with(entry)) return std::string(function.substr(entry.size()));
  return is_one_of(function, kPageFaultFunctions) ? "page fault" : "";
}

bool is_idle_call(std::string_view word) { return is_one_of(word, kIdleCalls); }

bool is_sync_call(std::string_view word) { return is_one_of(word, kSyncCalls); }

bool is_lock_wait(std::string_view function) {
  return starts_with_one_of(function, kLockWaitPrefixes);
}

bool is_condition_wait(std::string_view function) {
  return starts_with_one_of(remove_underscores(function), kConditionWaitPrefixes);
}

bool is_lock_function(std::string_view function) {
  return starts_with_one_of(remove_underscores(function), kLockFunctionPrefixes) ||
         is_condition_lock(function);
}

bool is_condition_lock(std::string_view function) {
  return starts_with_one_of(function, kConditionLockPrefixes);
}

bool is_entry_code(std::string_view function) {
  return starts_with_one_of(function, kEntryCodePrefixes);
}

std::vector<bool> find_lock_waits(const StackTable& table) {
  std::vector<bool> waits = find_nodes_below(table, &is_lock_wait);
  const std::vector<bool> has_condition = find_nodes_below(table, &is_condition_wait),
                          has_condition_lock = find_nodes_below(table, &is_condition_lock);
  for (std::size_t node = 0; node < waits.size(); ++node)
    waits[node] = waits[node] && (!has_condition[node] || has_condition_lock[node]);
  return waits;
}

std::vector<bool> find_lock_function_waits(const StackTable& table) {
  std::vector<bool> waits = find_lock_waits(table);
  const std::vector<bool> has_function = find_nodes_below(table, &is_lock_function);
  for (std::size_t node = 0; node < waits.size(); ++node)
    waits[node] = waits[node] && has_function[node];
  return waits;
}

std::vector<bool> find_sync_waits(const StackTable& table) {
  return find_nodes_below(
      table, [](std::string_view function) { return is_sync_call(get_kernel_word(function)); });
}

std::vector<bool> find_nodes_below(const StackTable& table,
                                   const std::function<bool(std::string_view)>& predicate) {
  std::vector<bool> by_frame, by_node;
  for (std::uint32_t frame = 0; frame < table.frames().size(); ++frame)
    by_frame.push_back(predicate(table.get_name(frame)));
  for (const StackTable::Node& node : table.nodes())
    by_node.push_back(by_frame[node.frame] ||
                      (node.parent < by_node.size() && by_node[node.parent]));
  return by_node;
}

}  // namespace ctprof

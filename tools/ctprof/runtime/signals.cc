#include "tools/ctprof/runtime/signals.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include "core/file/write/out_file.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {
namespace {

// Number of stack words to search. Code that runs at program exit is near the start of the stack.
constexpr std::size_t kMaxStackWords = 8192;

pid_t g_process = 0;
std::uintptr_t g_stack_begin = 0;

struct Registers {
  std::uintptr_t program_counter, stack;
};

Registers registers_of([[maybe_unused]] const ucontext_t& context) {
#if defined(__x86_64__)
  return {static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]),
          static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP])};
#elif defined(__aarch64__)
  return {context.uc_mcontext.pc, context.uc_mcontext.sp};
#else
  return {};
#endif
}

// Copies with a system call, because a stack that overflowed ends in unreadable memory.
std::size_t copy_stack_words(std::uintptr_t from, std::array<std::uintptr_t, 64>& words) {
  const iovec into{words.data(), sizeof words};
  const iovec source{reinterpret_cast<void*>(from), sizeof words};
  const ssize_t bytes = ::process_vm_readv(g_process, &into, 1, &source, 1, 0);
  return bytes < 0 ? 0 : static_cast<std::size_t>(bytes) / sizeof words[0];
}

const CallOwner* find_owner_on_stack(std::uintptr_t stack) {
  std::array<std::uintptr_t, 64> words;
  const std::uintptr_t end = std::min(g_stack_begin, stack + kMaxStackWords * sizeof words[0]);
  for (std::uintptr_t at = stack; at < end; at += sizeof words) {
    const std::size_t count = copy_stack_words(at, words);
    for (std::size_t i = 0; i < count; ++i)
      if (const CallOwner* owner = find_owner_of_code(words[i])) return owner;
    if (count < words.size()) return nullptr;
  }
  return nullptr;
}

std::atomic<void (*)()> g_exit_action{nullptr};

// Written by one thread. A handler that runs during the write reads a size of 0.
std::array<char, 1024> g_interrupt_loss;
std::atomic<std::size_t> g_interrupt_loss_size{0};

int g_interrupt_fd = -1;
std::atomic<bool> g_is_interrupted{false};

void print_interrupt_loss() {
  const std::size_t size = g_interrupt_loss_size;
  if (size == 0 || !is_own_process()) return;
  SignalLine line;
  line << "interrupted again: " << std::string_view(g_interrupt_loss.data(), size);
  line.print();
}

void on_interrupt(int signal) {
  const int saved_errno = errno;
  if (!g_is_interrupted.exchange(true)) {
    ::eventfd_write(g_interrupt_fd, 1);
  } else {
    run_exit_action();
    remove_temporary_files();
    print_interrupt_loss();
    ::signal(signal, SIG_DFL);
    ::raise(signal);  // it is blocked until this handler returns
  }
  errno = saved_errno;
}

}  // namespace

sigset_t signal_set(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) ::sigaddset(&set, signal);
  return set;
}

Result<void> install_interrupt_handlers() {
  g_interrupt_fd = ::eventfd(0, EFD_CLOEXEC);
  if (g_interrupt_fd < 0) return errno_error("making", "an event descriptor", errno);
  struct sigaction action {};
  action.sa_handler = &on_interrupt;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
  return {};
}

void set_interrupt_loss(std::string_view sentence) {
  const std::size_t size = std::min(sentence.size(), g_interrupt_loss.size());
  g_interrupt_loss_size = 0;
  std::copy_n(sentence.data(), size, g_interrupt_loss.data());
  g_interrupt_loss_size = size;
}

void SignalLine::print() {
  if (size_ == text_.size()) --size_;
  text_[size_++] = '\n';
  clear_progress_in_handler();
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text_.data(), size_);
}

void set_exit_action(void (*action)()) { g_exit_action = action; }
void run_exit_action() {
  if (const auto action = g_exit_action.exchange(nullptr)) action();
}

int interrupted_fd() { return g_interrupt_fd; }
bool is_interrupted() { return g_is_interrupted; }
const std::atomic<bool>* interrupted_flag() { return &g_is_interrupted; }

void remember_own_process(const void* stack_begin) {
  g_process = ::getpid();
  g_stack_begin = reinterpret_cast<std::uintptr_t>(stack_begin);
}

bool is_own_process() { return ::getpid() == g_process; }
bool is_main_thread() { return ::gettid() == g_process; }

const CallOwner* owner_of_instruction(const ucontext_t& context) {
  return find_owner_of_code(registers_of(context).program_counter);
}

const CallOwner* owner_of_context(const ucontext_t& context) {
  const Registers registers = registers_of(context);
  const CallOwner* owner = find_owner_of_code(registers.program_counter);
  const bool knows_stack =
      is_main_thread() && registers.stack != 0 && registers.stack < g_stack_begin;
  return owner || !knows_stack ? owner : find_owner_on_stack(registers.stack);
}

}  // namespace ctprof::cli

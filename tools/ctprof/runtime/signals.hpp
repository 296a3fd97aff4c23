// Shared by the signal handlers: the process and thread in which they run, the owner of the
// interrupted code, and printing a line. Also handles Ctrl-C.
//
// All functions except install_interrupt_handlers() and remember_own_process() are safe in a signal
// handler. A child that a plugin forks inherits ctprof's handlers and must not print anything, so a
// handler calls is_own_process() first.

#pragma once

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "core/base/result.hpp"
#include "core/registry/plugin_call.hpp"

namespace ctprof::cli {

sigset_t signal_set(std::initializer_list<int> signals);

// Installs handlers: the first SIGINT or SIGTERM only makes interrupted_fd() readable. A second one
// removes files under construction and ends the program as if the signal were not handled. Fails if
// no descriptor is available. REQUIRES: called once.
Result<void> install_interrupt_handlers();
// Sets what a second interrupt loses, such as "nothing was written to 'run.zst'". The sentence is
// printed before the program ends. Empty: nothing is printed. The text must be printable; a long
// one is truncated.
void set_interrupt_loss(std::string_view sentence);
// For poll(2). Do not read from it.
int interrupted_fd();
bool is_interrupted();
// Becomes true at the first interrupt, for work that must stop then.
const std::atomic<bool>* interrupted_flag();

// Sets the action that a signal handler runs before it reports why the program ends, such as
// restoring the terminal. Null: none. It runs once.
void set_exit_action(void (*action)());
void run_exit_action();

// Stores the id of this process and the start of the main thread's stack. REQUIRES: called from
// main().
void remember_own_process(const void* stack_begin);
bool is_own_process();
bool is_main_thread();

// Returns the plugin whose code the signal interrupted, according to the program counter; on the
// main thread also according to the return addresses on its stack. Null if the code belongs to no
// plugin.
const CallOwner* owner_of_context(const ucontext_t& context);
// Does the same, but only with the program counter.
const CallOwner* owner_of_instruction(const ucontext_t& context);

// One line on standard error. It is built without allocations or a locale, and written by one call.
class SignalLine {
 public:
  SignalLine() { *this << "ctprof: "; }

  SignalLine& operator<<(std::string_view text) {
    for (const char letter : text) put(letter);
    return *this;
  }
  SignalLine& operator<<(int number) {
    if (number > 9) *this << number / 10;
    put(static_cast<char>('0' + number % 10));
    return *this;
  }
  // "FILE: collect of source 'x'"
  SignalLine& put_call(const CallOwner& owner, const char* function) {
    put_name(owner.file) << ": " << function;
    if (!owner.source.empty()) *this << " of ", put_name(owner.source);
    return *this;
  }
  // Appends a name from outside. Bytes that are not printable ASCII are shown as "\xff".
  SignalLine& put_name(std::string_view text) {
    for (const char letter : text)
      is_plain(letter) ? put(letter) : escape(static_cast<unsigned char>(letter));
    return *this;
  }

  // Writes the line to standard error and clears the progress line first. REQUIRES: called last.
  void print();

 private:
  static bool is_plain(char letter) { return letter >= ' ' && letter <= '~'; }
  void escape(unsigned char byte) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    *this << "\\x";
    put(kDigits[byte >> 4]);
    put(kDigits[byte & 15]);
  }
  void put(char letter) {
    if (size_ < text_.size()) text_[size_++] = letter;
  }

  std::array<char, 2048> text_;
  std::size_t size_ = 0;
};

// Advice for the user about a plugin that prevents ctprof from working.
inline constexpr std::string_view kRemovalAdvice =
    "; remove that file, or name the plugins to use with --plugins";

}  // namespace ctprof::cli

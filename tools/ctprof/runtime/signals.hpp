// What the signal handlers share: which process and thread they run in, whose code was interrupted,
// and how to print a line; and Ctrl-C, for who wants to be told of it.
//
// Everything here but take_interrupts() and remember_own_process() is safe in a signal handler. A
// child that a plugin forks inherits our handlers and must not print anything in our name, so a
// handler asks is_own_process() first.

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

// From now on the first SIGINT or SIGTERM only makes interrupted_fd() readable. A second one, of
// either, removes files under construction and ends the program as if nobody had handled it. Fails
// where no more files can be opened. REQUIRES: called once.
Result<void> take_interrupts();
// What a second interrupt loses, such as "nothing was written to 'run.zst'": it prints the sentence
// before it ends the program. Empty: it prints nothing. Printable text; a long one loses its end.
void set_interrupt_loss(std::string_view sentence);
// For poll(2); nothing is to be read.
int interrupted_fd();
bool is_interrupted();
// The same, for work that is to end then.
const std::atomic<bool>* interrupted_flag();

// What a signal handler does before it says why the program ends, and ends it: whoever has changed
// the terminal puts it right. Null: nothing. It is done once.
void set_last_act(void (*act)());
void do_last_act();

// Remembers this process and where the main thread's stack begins. REQUIRES: called from main().
void remember_own_process(const void* stack_begin);
bool is_own_process();
bool is_main_thread();

// The plugin whose code the signal interrupted, by the program counter; on the main thread also by
// the return addresses on its stack. Null if it was no plugin's code.
const CallOwner* owner_of_context(const ucontext_t& context);
// The same by the program counter alone.
const CallOwner* owner_of_instruction(const ucontext_t& context);

// One line on standard error, built without allocating, without a locale, and written by one call.
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
  SignalLine& call(const CallOwner& owner, const char* function) {
    name(owner.file) << ": " << function;
    if (!owner.source.empty()) *this << " of ", name(owner.source);
    return *this;
  }
  // A name from outside: what is not plain ASCII is shown as "\xff".
  SignalLine& name(std::string_view text) {
    for (const char letter : text)
      is_plain(letter) ? put(letter) : escape(static_cast<unsigned char>(letter));
    return *this;
  }

  // Writes the line to standard error, in the place of progress that is shown there. REQUIRES:
  // last.
  void say();

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

// What to do about a plugin that does not let ctprof work.
inline constexpr std::string_view kDoWithout =
    "; take that file away, or name the plugins to use with --plugins";

}  // namespace ctprof::cli

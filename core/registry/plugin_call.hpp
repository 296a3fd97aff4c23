// Marks calls into plugins, so that the plugin and function that a thread is in are known.
//
// A plugin may crash, hang, throw, or exit the process, and ctprof must then name it. Every call
// into a plugin is therefore marked by a PluginCall, which costs three plain stores. A signal
// handler reads the mark of its own thread; CallWatch reads those of all threads.
//
//   const std::string thrown = run_contained(owner, "probe", [&] { table.probe(&host, &probe); });
//
// Constructors and `probe` must return within a time limit. A LimitedCall notifies the program,
// which enforces the limit (set_call_hooks). Signal handlers, limits and messages are in tools/;
// call_watch.hpp reports slow calls.

#pragma once

#include <cxxabi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ctprof {

// The plugin and source of a call. Never destroyed, so that any thread and any signal handler may
// read it.
struct CallOwner {
  std::string file;    // the plugin's library
  std::string source;  // "source 'x'" or "rule 'x'"; empty for the plugin as a whole
};

// Returns the owner for a file and source, created on first use. Never null; the core owns it. Any
// thread may call this.
const CallOwner* call_owner(std::string_view file, std::string_view source = {});

// The call that one thread is in.
struct CallSlot {
  std::atomic<const CallOwner*> owner{nullptr};  // null: in no plugin
  std::atomic<const char*> function{""};
  std::atomic<std::uint32_t> call_count{
      0};  // grows with each call, so that two calls can be distinguished
};

// The number of threads that CallWatch can observe; calls of further threads are marked but not
// watched.
constexpr std::size_t kCallSlots = 256;
std::array<CallSlot, kCallSlots>& call_slots();

// Returns the calling thread's slot, or null if it never called a plugin. Safe in a signal handler.
CallSlot* current_call();

// Marks the calling thread as being in `function` as long as this object lives. Calls may nest.
// REQUIRES: `function` is a string with static storage.
class PluginCall {
 public:
  PluginCall(const CallOwner* owner, const char* function);
  ~PluginCall();
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;

 private:
  CallSlot* slot_;
  const CallOwner* outer_owner_;
  const char* outer_function_;
};

// Functions of the program that handle misbehaving plugins. Each may be null.
struct CallHooks {
  void (*begin_limit)(const CallOwner& owner, const char* function) = nullptr;
  void (*end_limit)() = nullptr;
  // Called before the first call of a thread into a plugin.
  void (*on_first_call)(std::size_t slot) = nullptr;
  // A plugin terminates a thread of ctprof (pthread_exit), which cannot be undone. Must not return.
  void (*on_thread_exit)(const CallOwner& owner, const char* function) = nullptr;
};
// REQUIRES: no plugin has been loaded yet.
void set_call_hooks(const CallHooks& hooks);
const CallHooks& call_hooks();

// Marks a call with a time limit. REQUIRES: no other LimitedCall exists in the process.
class LimitedCall {
 public:
  LimitedCall(const CallOwner& owner, const char* function);
  ~LimitedCall();

 private:
  PluginCall call_;
};

// Records the address range of the library that contains `address`.
void register_code(const void* address, const CallOwner& owner);
// Returns the plugin whose code is at `address`, or null. Safe in a signal handler.
const CallOwner* find_owner_of_code(std::uintptr_t address);

// Thrown when ctprof cannot continue after a plugin's exception. what() is the complete message.
struct PluginException : std::runtime_error {
  using std::runtime_error::runtime_error;
};
std::string format_exception_message(const CallOwner& owner, const char* function,
                                     const char* exception_text);

// The size of the buffer for a message of a plugin, the NUL included.
inline constexpr std::size_t kMessageBytes = 4096;

// The text of std::bad_alloc, which a plugin may pass on as its message.
inline constexpr std::string_view kBadAllocText = "std::bad_alloc";

// Runs `call` as a marked call. Returns a message if it threw, or "".
template <class Call>
std::string run_contained(const CallOwner* owner, const char* function, Call&& call) {
  const PluginCall call_mark(owner, function);
  try {
    call();
    return {};
  } catch (const std::exception& exception) {
    if (exception.what() == kBadAllocText) return std::string(function) + ": not enough memory";
    return std::string(function) + " threw an exception: " + exception.what();
  } catch (const abi::__forced_unwind&) {
    if (call_hooks().on_thread_exit) call_hooks().on_thread_exit(*owner, function);
    throw;
  } catch (...) {
    return std::string(function) + " threw an exception without a message";
  }
}

// The same for a function that returns a status. Returns a message if it threw or returned a value
// other than 0, or "". `message_buffer` is the buffer for the plugin's message.
template <class Call>
std::string run_contained_with_status(const CallOwner* owner, const char* function,
                                      std::span<char> message_buffer, Call&& call) {
  std::int32_t status = 0;
  message_buffer.front() = 0;
  std::string failure = run_contained(owner, function, [&] { status = call(); });
  message_buffer.back() = 0;
  if (!failure.empty() || status == 0) return failure;
  if (std::string_view(message_buffer.data()) == kBadAllocText) return "not enough memory";
  return message_buffer.front() ? message_buffer.data() : "it failed without a message";
}

}  // namespace ctprof

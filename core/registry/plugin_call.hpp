// Marks calls into plugins: which thread is in which function of which plugin.
//
// A plugin may crash, hang, throw, or end the process, and ctprof must then be able to name it.
// Every call into a plugin is therefore marked by a PluginCall, which costs three plain stores. A
// signal handler reads the mark of its own thread; CallWatch reads those of all threads.
//
//   const std::string thrown = contained(*owner, "probe", [&] { table.probe(&host, &probe); });
//
// Constructors and `probe` must return soon. A LimitedCall around them tells the program, which
// sets the limit (set_call_hooks). Signal handlers, limits and messages are in tools/; slow calls
// are named by call_watch.hpp.

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

// The plugin and source that is called. Never destroyed, so that any thread and any signal handler
// may read it.
struct CallOwner {
  std::string file;    // the plugin's library
  std::string source;  // "source 'x'" or "rule 'x'"; empty for the plugin as a whole
};

// The owner for a file and source, created on first use. Never null; the core keeps it. Any thread.
const CallOwner* call_owner(std::string_view file, std::string_view source = {});

// The call that one thread is in.
struct CallSlot {
  std::atomic<const CallOwner*> owner{nullptr};  // null: in no plugin
  std::atomic<const char*> function{""};
  std::atomic<std::uint32_t> calls{0};  // rises with each call, so that two calls can be told apart
};

// CallWatch sees this many threads; further ones are marked, but not watched.
constexpr std::size_t kCallSlots = 256;
std::array<CallSlot, kCallSlots>& call_slots();

// The calling thread's slot, or null if it never called a plugin. Safe in a signal handler.
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

// What the program does about misbehaving plugins. Each hook may be null.
struct CallHooks {
  void (*begin_limit)(const CallOwner& owner, const char* function) = nullptr;
  void (*end_limit)() = nullptr;
  void (*thread_began)(std::size_t slot) =
      nullptr;  // a thread is about to call a plugin for the first time
  // A plugin ended one of our threads (pthread_exit), which cannot be undone. Must not return.
  void (*thread_ends)(const CallOwner& owner, const char* function) = nullptr;
};
// REQUIRES: before any plugin is loaded.
void set_call_hooks(const CallHooks& hooks);
const CallHooks& call_hooks();

// A call that must return soon. REQUIRES: no other LimitedCall exists in the process.
class LimitedCall {
 public:
  LimitedCall(const CallOwner& owner, const char* function);
  ~LimitedCall();

 private:
  PluginCall call_;
};

// Remembers the address range of the library that contains `address`.
void remember_code(const void* address, const CallOwner& owner);
// The plugin whose code is at `address`, or null. Safe in a signal handler.
const CallOwner* owner_of_code(std::uintptr_t address);

// Thrown when a plugin's exception leaves ctprof unable to continue. what() is the whole message.
struct PluginThrew : std::runtime_error {
  using std::runtime_error::runtime_error;
};
std::string thrown_in_words(const CallOwner& owner, const char* function, const char* what);

// The words of std::bad_alloc, which a plugin passes on as its message.
inline constexpr std::string_view kBadAlloc = "std::bad_alloc";

// Runs `call` under a mark. Returns a message if it threw, or "".
template <class Call>
std::string contained(const CallOwner* owner, const char* function, Call&& call) {
  const PluginCall in_plugin(owner, function);
  try {
    call();
    return {};
  } catch (const std::exception& exception) {
    if (exception.what() == kBadAlloc) return std::string(function) + ": not enough memory";
    return std::string(function) + " threw an exception: " + exception.what();
  } catch (const abi::__forced_unwind&) {
    if (call_hooks().thread_ends) call_hooks().thread_ends(*owner, function);
    throw;
  } catch (...) {
    return std::string(function) + " threw an exception without words";
  }
}

// The same for a function that fails with a message: the message if it threw, or returned anything
// but 0. `room` is what the plugin may write its message to.
template <class Call>
std::string asked(const CallOwner* owner, const char* function, std::span<char> room, Call&& call) {
  std::int32_t status = 0;
  room.front() = 0;
  std::string failure = contained(owner, function, [&] { status = call(); });
  room.back() = 0;
  if (!failure.empty() || status == 0) return failure;
  if (std::string_view(room.data()) == kBadAlloc) return "not enough memory";
  return room.front() ? room.data() : "it failed without a message";
}

}  // namespace ctprof

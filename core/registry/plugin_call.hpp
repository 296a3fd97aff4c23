// Calls into plugins under way: which thread is in which function of which plugin.
//
// A plugin may crash, hang, throw or end the process, and then somebody must be able to say who it
// was. Each call into one is marked by a PluginCall, which costs three plain stores. A signal
// handler reads the mark of its own thread; CallWatch reads those of all.
//
//   const std::string thrown = contained(*owner, "probe", [&] { table.probe(&host, &probe); });
//
// Constructors and `probe` must return soon: a LimitedCall tells the program so, which sets its own
// limit (set_call_hooks).
//
// What is here:   marks, and exceptions that must not leave a plugin.
// What is not:    signal handlers, time limits and sentences (tools/), naming slow calls
// (call_watch.hpp).

#pragma once

#include <cxxabi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ctprof {

// Who is called. It is never destroyed, so that any thread and any signal handler may read it.
struct CallOwner {
  std::string file;    // the plugin's library
  std::string source;  // "source 'x'" or "rule 'x'"; empty for the plugin as a whole
};

// The owner of these two; made at the first call. Any thread.
const CallOwner* call_owner(std::string_view file, std::string_view source = {});

// What one thread is in.
struct CallSlot {
  std::atomic<const CallOwner*> owner{nullptr};  // null: in no plugin
  std::atomic<const char*> function{""};
  std::atomic<std::uint32_t> calls{0};  // rises with each call, so that two calls can be told apart
};

// Slots of threads that are known to CallWatch; threads beyond them are marked, but not watched.
constexpr std::size_t kCallSlots = 256;
std::array<CallSlot, kCallSlots>& call_slots();

// The calling thread's slot. Safe in a signal handler: null where the thread never called a plugin.
CallSlot* current_call();

// Marks the calling thread as being in `function`, a text that lives for ever. Calls may nest.
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

// What the program does about plugins; none of it is needed.
struct CallHooks {
  void (*begin_limit)(const CallOwner& owner, const char* function) = nullptr;
  void (*end_limit)() = nullptr;
  void (*thread_began)(std::size_t slot) =
      nullptr;  // a thread is about to call a plugin for the first time
  // A plugin ends a thread of ours (pthread_exit), which nothing can stop. Does not return.
  void (*thread_ends)(const CallOwner& owner, const char* function) = nullptr;
};
// REQUIRES: before any plugin is loaded.
void set_call_hooks(const CallHooks& hooks);
const CallHooks& call_hooks();

// A call that must return soon. One at a time in the process.
class LimitedCall {
 public:
  LimitedCall(const CallOwner& owner, const char* function);
  ~LimitedCall();

 private:
  PluginCall call_;
};

// Remembers where a library's code lies; `address` is in the library.
void remember_code(const void* address, const CallOwner& owner);
// Whose code is at `address`; null when it is no plugin's. Safe in a signal handler.
const CallOwner* owner_of_code(std::uintptr_t address);

// What a plugin threw where nobody can go on without it. The text is the whole sentence.
struct PluginThrew : std::runtime_error {
  using std::runtime_error::runtime_error;
};
std::string thrown_in_words(const CallOwner& owner, const char* function, const char* what);

// Runs `call`, marked. Returns what it threw, in words; an empty text when it threw nothing.
template <class Call>
std::string contained(const CallOwner* owner, const char* function, Call&& call) {
  const PluginCall in_plugin(owner, function);
  try {
    call();
    return {};
  } catch (const std::exception& exception) {
    return std::string(function) + " threw an exception: " + exception.what();
  } catch (const abi::__forced_unwind&) {
    if (call_hooks().thread_ends) call_hooks().thread_ends(*owner, function);
    throw;
  } catch (...) {
    return std::string(function) + " threw an exception without words";
  }
}

}  // namespace ctprof

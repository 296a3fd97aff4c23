// Calls of a rule's functions: marked as calls into a plugin where the rule is one's, bare where it
// is built in.

#pragma once

#include "core/registry/plugin_call.hpp"

namespace ctprof {

// Returns what `call` does. `owner` is null for a built-in rule. Throws PluginThrew, with the
// rule's file, where the rule throws.
template <class Call>
auto call_rule(const CallOwner* owner, const char* function, Call&& call) {
  if (!owner) return call();
  const PluginCall in_plugin(owner, function);
  try {
    return call();
  } catch (const std::exception& exception) {
    throw PluginThrew(thrown_in_words(*owner, function, exception.what()));
  } catch (const abi::__forced_unwind&) {
    if (call_hooks().thread_ends) call_hooks().thread_ends(*owner, function);
    throw;
  } catch (...) {
    throw PluginThrew(thrown_in_words(*owner, function, "one without words"));
  }
}

}  // namespace ctprof

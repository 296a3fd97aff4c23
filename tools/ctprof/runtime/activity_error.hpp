// Errors that name the activity and the files during which an exception was thrown.

#pragma once

#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <string>

#include "core/registry/plugin_call.hpp"

namespace ctprof::cli {

// What main() reports and ends with: something was thrown, and it is known which files it was
// about.
class Trouble : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Runs `work` and returns what it returns. Turns what it throws, a fault or a lack of memory, into
// a Trouble that begins with `activity` and the files; lets PluginThrew through.
template <class Work>
auto naming(std::span<const std::string> files, const std::string& activity, Work work) {
  std::string about = activity;
  for (const std::string& file : files)
    about += (&file == files.data() ? " '" : " and '") + file + "'";
  try {
    return work();
  } catch (const PluginThrew&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Trouble(about + ": not enough memory");
  } catch (const std::exception& exception) {
    throw Trouble(about + ": a fault of ctprof itself: " + exception.what());
  }
}

}  // namespace ctprof::cli

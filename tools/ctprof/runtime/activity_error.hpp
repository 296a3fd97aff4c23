// Errors that name the activity and the files during which an exception was thrown.

#pragma once

#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <string>

#include "core/registry/plugin_call.hpp"

namespace ctprof::cli {

// An exception for main() to report: something was thrown while the named files were processed.
class NamedFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Runs `work` and returns its result. Converts exceptions (faults, lack of memory) to a
// NamedFailure whose message begins with `activity` and the files. Does not catch PluginException.
template <class Work>
auto with_error_context(std::span<const std::string> files, const std::string& activity,
                        Work work) {
  std::string about = activity;
  for (const std::string& file : files)
    about += (&file == files.data() ? " '" : " and '") + file + "'";
  try {
    return work();
  } catch (const PluginException&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw NamedFailure(about + ": not enough memory");
  } catch (const std::exception& exception) {
    throw NamedFailure(about + ": internal error of ctprof: " + exception.what());
  }
}

}  // namespace ctprof::cli

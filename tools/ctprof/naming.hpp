// Faults and lack of memory, told with the files that were being worked on.

#pragma once

#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <string>

#include "core/registry/plugin_call.hpp"

namespace ctprof::cli {

// Ends the program with its sentence, where something was thrown and it is known which files that
// was about.
class Trouble : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Does the work; what it throws is a fault or a lack of memory, and says which files it was about.
template <class Work>
auto naming(std::span<const std::string> files, const std::string& deed, Work work) {
  std::string about = deed;
  for (const std::string& file : files)
    about += (&file == files.data() ? " '" : " and '") + file + "'";
  try {
    return work();
  } catch (const PluginThrew&) {
    throw;  // it says whose fault it is
  } catch (const std::bad_alloc&) {
    throw Trouble(about + ": there is not enough memory for this");
  } catch (const std::exception& exception) {
    throw Trouble(about + ": a fault of ctprof itself: " + exception.what());
  }
}

}  // namespace ctprof::cli

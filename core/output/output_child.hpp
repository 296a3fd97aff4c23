// The process of an output plugin, from its start to its end.

#pragma once

#include <string>
#include <vector>

#include "core/output/output_messages.hpp"
#include "core/registry/output_file.hpp"

namespace ctprof {

struct OutputChildOptions {
  std::string name;  // the expected name of the plugin
  std::vector<OutputSetting> settings{};
  int bytes_fd = -1;  // receives the bytes that the plugin writes; -1: none
  bool opens = true;  // false: only describes the plugin
};

// The descriptors of the process that connect it to ctprof.
struct OutputConnection {
  int windows;  // a socket, from which it receives windows
  int answers;  // a pipe, to which it writes answers
};

// Drops all privileges, loads the plugin and passes windows to it. REQUIRES: called in a new
// process with one thread.
[[noreturn]] void run_output_child(const OutputConnection& connection, const OutputFile& file,
                                   const OutputChildOptions& options);

}  // namespace ctprof

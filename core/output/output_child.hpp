// The process of an output plugin, from its start to its end.
//
// It runs the same program as ctprof, from its beginning. main() passes control to it:
//
//   if (argc > 1 && std::string_view(argv[1]) == kOutputChildWord) run_output_child();

#pragma once

#include <string>
#include <vector>

namespace ctprof {

// The descriptors of the process that connect it to ctprof.
struct OutputConnection {
  int windows;  // a socket, from which it receives its options and windows
  int answers;  // a pipe, to which it writes answers
  int printed;  // a pipe, which becomes its standard output and standard error
  int bytes;    // receives the bytes that the plugin writes; -1: none
};

// The word after the name of the program that starts the process of an output plugin.
inline constexpr const char* kOutputChildWord = "output-child";

// Starts this program again, with kOutputChildWord and these variables as its environment. So the
// plugin finds neither memory of ctprof, such as the settings of other plugins, nor the addresses
// at which ctprof runs. REQUIRES: called in a new process with one thread.
[[noreturn]] void start_output_child(const OutputConnection& connection,
                                     std::vector<std::string> environment);

// Drops all privileges, loads the plugin and passes windows to it. Returns only if
// start_output_child() did not start this program. REQUIRES: the program has one thread, and its
// first argument is kOutputChildWord.
void run_output_child();

}  // namespace ctprof

// Where the running program is, and its plugins with it.
//
// Both come from /proc/self/exe: neither the words that the program was started with nor the
// current directory count. Only where there is no /proc is it the name that the kernel was asked to
// run, and not even that for a program with more rights than its user.
//
// What is here:   two paths, absolute and without symbolic links as far as the program's own
// directory. What is not:    what is there (plugin_directory.hpp).

#pragma once

#include <string>

namespace ctprof {

// The directory of the running program; empty where nothing says that can be trusted.
std::string program_directory();

// The directory of ctprof's own plugins, seen from the running program: in a build tree that one's,
// else where it is installed. Empty where it is not known where the program is.
std::string own_plugin_directory();

}  // namespace ctprof

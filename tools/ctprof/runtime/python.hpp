// Runs Python for ctprof: a package in the source tree implements `export --to parquet` and `fleet`
// with DuckDB.
//
// The package is a directory that `python3 DIRECTORY SUBCOMMAND...` runs: /usr/share/ctprof/fleet
// if ctprof is installed, and tools/fleet of the sources if it runs from a build tree. Python is
// the `python3` in PATH, so a virtual environment with its own DuckDB works. Python inherits
// ctprof's environment, working directory and standard error.
//
// A ctprof with file capabilities (AT_SECURE) does not start Python, because its caller controls
// which Python runs and what that loads.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"

namespace ctprof::cli {

// Returns the directory of the package, or "" if ctprof cannot determine its own location.
std::string python_package();

struct PythonStreams {
  // a file of the package to run instead of the package itself
  std::string script = {};
  // Writes the standard input of Python, in the calling thread. None: Python inherits ctprof's. If
  // it fails, Python is killed and run_python() returns the error. If Python stops reading,
  // run_python() does not fail: the exit status reports the result.
  std::function<Result<void>(Sink&)> feed = {};
  // Python's standard output; -1: ctprof's original standard output.
  int output = -1;
};

// Checks that run_python() can start, before work that would otherwise be lost. Fails with a
// message for the user if python3 or its DuckDB is missing (the message says how to install it;
// without a script the package itself reports a missing DuckDB), if the package or that file of it
// is missing, or under AT_SECURE.
Result<void> find_python(const std::string& script = {});

// Runs SUBCOMMAND (the first of `arguments`) of the package with the others, and waits for it.
// Returns the exit status of Python as a shell reports it: 128 plus the signal number if a signal
// killed it. Python has printed its own errors. Fails with a message for the user if python3 or its
// DuckDB is missing (the message says how to install it), if the package is missing, or under
// AT_SECURE.
//
// Signals: Python receives Ctrl-C from the terminal, and each SIGINT, SIGQUIT, SIGTERM or SIGHUP
// that is sent to ctprof. ctprof runs until Python has exited.
// REQUIRES: no other thread of this process runs.
Result<int> run_python(std::vector<std::string> arguments, const PythonStreams& streams = {});

}  // namespace ctprof::cli

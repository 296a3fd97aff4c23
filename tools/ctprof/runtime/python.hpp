// Python at work for ctprof: `export --to parquet` and `fleet` are done by a package of ours, on
// DuckDB.
//
// The package is a directory that `python3 DIRECTORY SUBCOMMAND...` runs: /usr/share/ctprof/fleet
// where ctprof is installed, tools/fleet of the sources where it runs from a build tree. Python is
// the `python3` of PATH, so that a virtual environment with its own DuckDB counts. It has our
// environment, working directory and standard error.
//
// A ctprof with capabilities of its file (AT_SECURE) starts none: which Python runs, and what that
// loads, is the choice of whoever calls it.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"

namespace ctprof::cli {

// The directory of the package, or "" where ctprof does not know where it stands itself.
std::string python_package();

struct PythonEnds {
  // A file of the package that is run rather than the package itself.
  std::string script = {};
  // Writes what Python reads on its standard input, in the calling thread. None: Python has ours.
  // If it fails, Python is ended, and the error is that of run_python(). That Python takes no more
  // is no failure of run_python(): the status tells what became of it.
  std::function<Result<void>(Sink&)> feed = {};
  // Python's standard output; -1: what ctprof's own was.
  int output = -1;
};

// Whether run_python() could start anything, before work that would be lost otherwise. Fails with a
// sentence for the user where there is no python3 or no DuckDB for it (the sentence says how to get
// that; without a script the package says so itself), where the package or that file of it is not
// there, or under AT_SECURE.
Result<void> find_python(const std::string& script = {});

// Runs SUBCOMMAND (the first of `arguments`) of the package with the others, and waits for it.
// Returns the status that Python ended with, as a shell has it: 128 and the number of the signal
// that killed it; what was wrong, Python said itself. Fails with a sentence for the user where
// there is no python3 or no DuckDB for it (the sentence says how to get that), where the package is
// not there, or under AT_SECURE.
//
// Signals: Ctrl-C at the terminal is Python's, and so is a SIGINT, SIGQUIT, SIGTERM or SIGHUP that
// somebody sends to ctprof. ctprof itself lives until Python has ended.
// REQUIRES: no other thread of ours runs.
Result<int> run_python(std::vector<std::string> arguments, const PythonEnds& ends = {});

}  // namespace ctprof::cli

// Finds recorded kernel trees where the build unpacked them, and reads their files.

#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tests/unit/support/files.hpp"

// Returns the directory of a recorded tree, such as "6.18". The environment variable FIXTURES,
// which Meson sets, names the directory that contains all trees.
inline std::string fixture_path(const std::string& kernel) {
  const char* fixtures = std::getenv("FIXTURES");
  if (!fixtures) throw std::runtime_error("FIXTURES is not set: run the tests with Meson");
  return std::string(fixtures) + "/" + kernel;
}

// Reads a file of a recorded tree, such as "6.18/proc/1/stat"; throws if it is missing.
inline std::string kernel_text(const std::string& path) { return file_text(fixture_path(path)); }

// Finds recorded kernel trees where the build unpacked them, and reads their files as text.

#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

// Returns the directory of a recorded tree, such as "6.18". The environment variable FIXTURES,
// which Meson sets, names the directory that contains all trees.
inline std::string fixture_path(const std::string& kernel) {
  const char* fixtures = std::getenv("FIXTURES");
  if (!fixtures) throw std::runtime_error("FIXTURES is not set: run the tests with Meson");
  return std::string(fixtures) + "/" + kernel;
}

inline std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read '" + path + "'");
  return {std::istreambuf_iterator<char>(in), {}};
}

// Reads a file of a recorded tree, such as "6.18/proc/1/stat"; throws if it is missing.
inline std::string kernel_text(const std::string& path) { return file_text(fixture_path(path)); }

// Files of the recorded trees in tests/fixtures, as text.

#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "source_dir.hpp"

// `path` under tests/fixtures; throws when it is not there.
inline std::string kernel_text(const std::string& path) {
  std::ifstream in(std::string(CTPROF_SOURCE_DIR "/tests/fixtures/") + path, std::ios::binary);
  if (!in) throw std::runtime_error("no fixture '" + path + "'");
  return {std::istreambuf_iterator<char>(in), {}};
}

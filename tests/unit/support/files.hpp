// Files of tests: a temporary directory, and the contents of a file as text.

#pragma once

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>

inline std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read '" + path + "'");
  return {std::istreambuf_iterator<char>(in), {}};
}

// A new directory, which is removed with its contents at the end of the scope.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    if (!::mkdtemp(path_.data())) throw std::system_error(errno, std::generic_category(), path_);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  // Returns the path of a file in the directory.
  std::string operator/(const std::string& name) const { return path_ + '/' + name; }

 private:
  std::string path_ = "/tmp/ctprof-test-XXXXXX";
};

// Files that the test process maps as code.

#pragma once

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/stacks/address_space.hpp"
#include "ctprof/files.hpp"
#include "tests/unit/support/files.hpp"

namespace ctprof::hand_made {

// Timeout for threads whose completion a test waits for.
inline constexpr std::chrono::hours kTimeout(1);

inline void write_file(const std::string& path, std::string_view text) {
  std::ofstream(path) << text;
}

inline FileId id_of(const std::string& path) {
  struct stat status {};
  BOOST_REQUIRE(::stat(path.c_str(), &status) == 0);
  return {status.st_dev, status.st_ino};
}

// A new mapped file, and its mapping as listed in maps.
class MappedFile {
 public:
  MappedFile(const std::string& path, std::string_view text) {
    write_file(path, text);
    fd_.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    at_ = ::mmap(nullptr, kSize, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd_.get(), 0);
    BOOST_REQUIRE(at_ != MAP_FAILED);
    sdk::TextFile maps;
    const auto listed = maps.read_records(AT_FDCWD, "/proc/self/maps");
    const auto found = find_mapping(listed.value, reinterpret_cast<std::uintptr_t>(at_));
    BOOST_REQUIRE(found.has_value());
    mapping_ = *found;
  }
  ~MappedFile() { ::munmap(at_, kSize); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const Mapping& mapping() const { return mapping_; }
  // Overwrites the file in place, even if it was removed.
  void overwrite(std::string_view text) const {
    BOOST_REQUIRE(::ftruncate(fd_.get(), 0) == 0);
    BOOST_REQUIRE(::pwrite(fd_.get(), text.data(), text.size(), 0) ==
                  static_cast<ssize_t>(text.size()));
  }

 private:
  static constexpr std::size_t kSize = 4096;

  sdk::Fd fd_;
  void* at_;
  Mapping mapping_;
};

}  // namespace ctprof::hand_made

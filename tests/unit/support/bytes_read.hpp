// Counts the bytes that a test reads, as a measure of work that does not depend on machine speed.

#pragma once

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>

namespace ctprof {

// Returns the bytes that this process has read by system calls so far.
inline std::uint64_t count_bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string key;
  std::uint64_t bytes = 0;
  if (!(io >> key >> bytes) || key != "rchar:")
    throw std::runtime_error(
        "reading /proc/self/io: it has no rchar: CONFIG_TASK_XACCT is not set");
  return bytes;
}

}  // namespace ctprof

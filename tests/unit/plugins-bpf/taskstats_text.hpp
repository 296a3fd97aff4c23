// Taskstats answers of tests/fixtures/taskstats: the bytes of a netlink message and the expected
// fields of its struct.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "source_dir.hpp"
#include "tests/unit/support/fixtures.hpp"

struct TaskstatsText {
  std::vector<std::byte> message;
  std::map<std::string, std::uint64_t> fields;
};

inline TaskstatsText read_taskstats_text(const std::string& name) {
  TaskstatsText found;
  std::istringstream lines(
      file_text(CTPROF_SOURCE_DIR "/tests/fixtures/taskstats/" + name + ".txt"));
  for (std::string key, value; lines >> key >> value;) {
    if (key != "message")
      found.fields[key] = std::stoull(value);
    else
      for (std::size_t i = 0; i < value.size(); i += 2)
        found.message.push_back(static_cast<std::byte>(std::stoi(value.substr(i, 2), nullptr, 16)));
  }
  return found;
}

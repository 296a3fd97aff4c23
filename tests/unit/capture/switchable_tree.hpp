// A recorded host that a test can change.

#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/support/fixtures.hpp"

namespace ctprof::fake {

// A copy of a recorded tree. Turns its schedstats switch on or off.
class SwitchableTree {
 public:
  SwitchableTree()
      : root_(std::filesystem::temp_directory_path() /
              ("ctprof-session-" + std::to_string(::getpid()))) {
    std::filesystem::copy(fixture_path("6.18-schedstats-off"), root_,
                          std::filesystem::copy_options::recursive);
    std::filesystem::create_directories(root_ / "proc/sys/kernel/random");
    std::ofstream(root_ / "proc/sys/kernel/random/boot_id") << "a-boot\n";
  }
  ~SwitchableTree() { std::filesystem::remove_all(root_); }
  void set_switch(bool on) const {
    std::ofstream(root_ / "proc/sys/kernel/sched_schedstats") << (on ? "1\n" : "0\n");
  }
  std::string path() const { return root_; }

 private:
  std::filesystem::path root_;
};

}  // namespace ctprof::fake

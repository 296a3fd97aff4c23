// File systems that a test mounts in a child process, in a mount namespace of its own, so that
// nothing of them is left behind.

#pragma once

#include <boost/test/unit_test.hpp>

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "tests/unit/capture/own_files.hpp"

namespace ctprof::own_mounts {

// For cases that only root can run.
inline boost::unit_test::precondition needs_root() {
  return boost::unit_test::precondition(
      [](boost::unit_test::test_unit_id) { return ::geteuid() == 0; });
}

// The calling process sees only its own mounts from now on. False: it may not.
inline bool leave_mounts() {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

// Directories of an overlay mount.
inline void make_layers(const hand_made::Scratch& scratch) {
  for (const char* name : {"lower", "upper", "work", "merged"})
    std::filesystem::create_directory(scratch / name);
}
inline bool mount_overlay(const hand_made::Scratch& scratch) {
  const std::string options = "lowerdir=" + (scratch / "lower") +
                              ",upperdir=" + (scratch / "upper") + ",workdir=" + (scratch / "work");
  return ::mount("overlay", (scratch / "merged").c_str(), "overlay", 0, options.c_str()) == 0;
}

// Expects `check` to return true in a child process where `mount` did. If `mount` returned false,
// the kernel has no such file system, and the case is skipped.
inline void expect_on_mount(const std::function<bool()>& mount,
                            const std::function<bool()>& check) {
  constexpr int kPassed = 0, kFailed = 1, kNotMounted = 2;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_mounted = leave_mounts() && mount();
    ::_exit(!is_mounted ? kNotMounted : check() ? kPassed : kFailed);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const bool is_mounted = !WIFEXITED(status) || WEXITSTATUS(status) != kNotMounted;
  if (!is_mounted) BOOST_TEST_MESSAGE("skipped: the file system cannot be mounted here");
  BOOST_TEST((!is_mounted || status == 0));
}

}  // namespace ctprof::own_mounts

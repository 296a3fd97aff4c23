// File systems that a test mounts in a child process with its own mount namespace, so that no
// mounts remain.

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
#include "tests/unit/support/files.hpp"

namespace ctprof::own_mounts {

// A precondition for cases that only root can run.
inline boost::unit_test::precondition needs_root() {
  return boost::unit_test::precondition(
      [](boost::unit_test::test_unit_id) { return ::geteuid() == 0; });
}

// Moves the calling process to a private mount namespace. Returns false if it is not permitted to.
inline bool enter_private_mounts() {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

// Creates the directories of an overlay mount.
inline void make_layer_directories(const TemporaryDirectory& scratch) {
  for (const char* name : {"lower", "upper", "work", "merged"})
    std::filesystem::create_directory(scratch / name);
}
inline bool mount_overlay(const TemporaryDirectory& scratch) {
  const std::string options = "lowerdir=" + (scratch / "lower") +
                              ",upperdir=" + (scratch / "upper") + ",workdir=" + (scratch / "work");
  return ::mount("overlay", (scratch / "merged").c_str(), "overlay", 0, options.c_str()) == 0;
}

// Checks that `check` returns true in a child process after `mount`. If `mount` returns false, the
// kernel lacks this file system, and the case is skipped.
inline void expect_on_mount(const std::function<bool()>& mount,
                            const std::function<bool()>& check) {
  constexpr int kPassed = 0, kFailed = 1, kNotMounted = 2;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_mounted = enter_private_mounts() && mount();
    ::_exit(!is_mounted ? kNotMounted : check() ? kPassed : kFailed);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const bool is_mounted = !WIFEXITED(status) || WEXITSTATUS(status) != kNotMounted;
  if (!is_mounted) BOOST_TEST_MESSAGE("skipped: the file system cannot be mounted here");
  BOOST_TEST((!is_mounted || status == 0));
}

}  // namespace ctprof::own_mounts

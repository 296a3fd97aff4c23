// Another process, a mapping, and helpers to open the files of both.

#pragma once

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "core/stacks/address_space.hpp"
#include "ctprof/files.hpp"

namespace ctprof::target_process {

inline constexpr std::chrono::hours kTimeout(1);

inline sdk::Fd proc() { return sdk::Fd(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)); }

// A child process that runs `prepare` and then waits. The destructor kills it.
class Child {
 public:
  explicit Child(const std::function<bool()>& prepare) {
    int ready[2];
    BOOST_REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const bool is_ready = prepare();
      if (is_ready && ::write(ready[1], "", 1) == 1)
        for (;;) ::pause();
      ::_exit(1);
    }
    ::close(ready[1]);
    char byte;
    is_ready_ = ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  std::uint64_t id() const { return static_cast<std::uint64_t>(pid_); }
  bool is_ready() const { return is_ready_; }

 private:
  pid_t pid_;
  bool is_ready_;
};

// A file mapping of this process, as listed in maps.
class MappedPath {
 public:
  explicit MappedPath(const std::string& path) {
    const sdk::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    address_ = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
    BOOST_REQUIRE(address_ != MAP_FAILED);
    sdk::TextFile maps;
    const auto text = maps.read_records(AT_FDCWD, "/proc/self/maps");
    const auto found = find_mapping(text.value, reinterpret_cast<std::uintptr_t>(address_));
    BOOST_REQUIRE(found.has_value());
    mapping_ = *found;
  }
  ~MappedPath() { ::munmap(address_, 4096); }
  MappedPath(const MappedPath&) = delete;
  MappedPath& operator=(const MappedPath&) = delete;
  CodeRange range() const { return {mapping_.start, mapping_.end, 0, 0}; }
  const Mapping& operator*() const { return mapping_; }

 private:
  void* address_;
  Mapping mapping_;
};

inline std::string read_of(const sdk::Fd& fd) {
  char text[64];
  const ssize_t count = fd ? ::pread(fd.get(), text, sizeof text, 0) : 0;
  return fd ? std::string(text, static_cast<std::size_t>(count)) : "none";
}

}  // namespace ctprof::target_process

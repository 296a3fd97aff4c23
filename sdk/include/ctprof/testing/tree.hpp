// The input of a test: files of a host as text, and a clock.
//
//   testing::Tree tree({{"proc/stat", "cpu 1 2 3\nprocs_running 3\n"},
//                       {"proc/7/task/7/status", "Threads:\t1\n"},
//                       {"sys/fs/cgroup/cgroup.controllers", "cpu memory\n"}});
//   tree.write("proc/stat", "cpu 4 5 6\nprocs_running 4\n");   // for the next capture
//   tree.remove("proc/7/task/7/status");                        // the thread exited meanwhile
//
// Contents:   Tree, Clock.
// See also:   capture.hpp, which reads them; ctprof/testing.hpp, the header to include.

#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace ctprof::sdk::testing {

// A directory that contains files of a host under their real paths, without the leading slash. The
// object creates it below the directory for temporary files and removes it in its destructor.
//
// A thread of the tree is a directory proc/TGID/task/TID, which the first file in it creates. A
// cgroup is a directory below sys/fs/cgroup, if sys/fs/cgroup/cgroup.controllers exists.
//
// A tree needs only the files that the plugin reads. A tree for `ctprof --rootfs` needs the files
// that identify the rows as well: `stat`, `comm` and `cgroup` of each process and thread, and
// proc/stat. Copy the text of a file from a real kernel, not from its documentation: units, blanks
// and further lines differ.
//
// Permissions are not part of a tree: root can read any file. A file that fails to be read is, in a
// test, a directory of the same name: reading it gives SourceFailed.
//
// All functions throw std::runtime_error or std::filesystem::filesystem_error on failure.
class Tree {
 public:
  using Files = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  // Creates a tree with these files: each a path and a content.
  Tree(Files files) : is_owner_(true) {
    std::string name = (std::filesystem::temp_directory_path() / "ctprof-tree-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("cannot create directory '" + name + "'");
    path_ = name;
    std::filesystem::create_directory(path_ / "proc");
    for (const auto& [path, text] : files) write(path, text);
  }
  // Refers to an existing tree, such as one that `ctprof record-tree` wrote, and keeps it.
  static Tree existing(const std::filesystem::path& path) { return Tree(path); }

  Tree(Tree&& other) noexcept
      : path_(std::exchange(other.path_, {})), is_owner_(std::exchange(other.is_owner_, false)) {}
  Tree& operator=(Tree&&) = delete;
  ~Tree() {
    std::error_code ignored;
    if (is_owner_) std::filesystem::remove_all(path_, ignored);
  }

  // Creates or replaces a file. Directories are created as needed.
  void write(std::string_view path, std::string_view text) const {
    const std::filesystem::path file = path_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    if (!out) throw std::runtime_error("cannot write '" + file.string() + "'");
  }

  // Removes a file, or a directory with its contents; does nothing if it does not exist.
  void remove(std::string_view path) const { std::filesystem::remove_all(path_ / path); }

  // The directory, as `ctprof --rootfs` takes it.
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit Tree(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
  bool is_owner_ = false;
};

// The time of a capture. It advances only when the test advances it, so that rates are exact:
//
//   testing::Clock clock;
//   const auto before = testing::capture(ctprof_plugin, tree, clock);
//   clock.advance(std::chrono::seconds(2));
//   tree.write("proc/7/task/7/status", ...);
//   const auto after = testing::capture(ctprof_plugin, tree, clock);
//   testing::rate(before, after, "hello_switches", "7/7")         // per second
class Clock {
 public:
  explicit Clock(std::uint64_t now_ns = 1'000'000'000) : now_ns_(now_ns) {}

  std::uint64_t now_ns() const { return now_ns_; }
  // REQUIRES: time >= 0.
  void advance(std::chrono::nanoseconds time) {
    now_ns_ += static_cast<std::uint64_t>(time.count());
  }

 private:
  std::uint64_t now_ns_;
};

}  // namespace ctprof::sdk::testing

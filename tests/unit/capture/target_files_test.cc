// Tests that files of other processes are opened only if they are the mapped files and cannot
// block.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "core/base/clock.hpp"
#include "core/capture/target_files.hpp"
#include "tests/unit/capture/own_files.hpp"
#include "tests/unit/capture/own_mounts.hpp"
#include "tests/unit/capture/target_process.hpp"
#include "tests/unit/support/files.hpp"

namespace ctprof::target_files_test {
namespace {

using hand_made::id_of;
using own_mounts::needs_root;
using target_process::Child;
using target_process::kTimeout;
using target_process::MappedPath;
using target_process::proc;
using target_process::read_of;

const std::uint64_t kSelf = static_cast<std::uint64_t>(::getpid());

constexpr uid_t kNobody = 65534;

bool become_nobody() {
  return ::setgroups(0, nullptr) == 0 && ::setresgid(kNobody, kNobody, kNobody) == 0 &&
         ::setresuid(kNobody, kNobody, kNobody) == 0;
}

BOOST_AUTO_TEST_SUITE(target_files_test)

BOOST_AUTO_TEST_CASE(opens_only_the_mapped_file) {
  const TemporaryDirectory scratch;
  const std::string path = scratch / "file";
  std::ofstream(path) << "text";
  const FileId id = id_of(path);
  const auto open = [&](std::uint64_t process) {
    return read_of(TargetFiles(proc().get(), kTimeout).open(process, {}, path, id));
  };
  BOOST_TEST(open(kSelf) == "text");
  BOOST_TEST(open(1 << 22) == "text");  // no such process: the path is opened below our own root
  std::filesystem::rename(path, scratch / "away");
  std::ofstream(path) << "another";
  BOOST_TEST(open(kSelf) == "none");
}

// Opening a pipe would wait for a writer, and a link may lead anywhere.
BOOST_AUTO_TEST_CASE(opens_only_regular_files) {
  const TemporaryDirectory scratch;
  const std::string pipe = scratch / "pipe", file = scratch / "file", link = scratch / "link";
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::ofstream(file) << "text";
  BOOST_REQUIRE(::symlink(file.c_str(), link.c_str()) == 0);
  TargetFiles files(proc().get(), kTimeout);
  BOOST_TEST(read_of(files.open(kSelf, {}, pipe, id_of(pipe))) == "none");
  BOOST_TEST(read_of(files.open(kSelf, {}, link, id_of(file))) == "none");
  BOOST_TEST(files.count_timeouts() == 0u);
}

// A user who mounts a file system can choose any inode number and any path for a file.
BOOST_AUTO_TEST_CASE(refuses_a_file_on_another_device) {
  const TemporaryDirectory scratch;
  const std::string path = scratch / "file";
  std::ofstream(path) << "text";
  for (const unsigned major : {0u, 8u}) {
    const FileId other{makedev(major, 0xffff), id_of(path).inode};
    TargetFiles files(proc().get(), kTimeout);
    BOOST_TEST(read_of(files.open(kSelf, {}, path, other)) == "none");
    BOOST_TEST(read_of(files.open(1 << 22, {}, path, other)) == "none");
  }
}

BOOST_AUTO_TEST_CASE(opens_paths_as_the_user_of_the_process, *needs_root()) {
  const TemporaryDirectory scratch;
  std::filesystem::permissions(scratch / "", std::filesystem::perms{0755});
  const std::string path = scratch / "file";
  std::ofstream(path) << "text";
  const FileId id = id_of(path);
  const Child nobody(become_nobody), root([] { return true; });
  BOOST_REQUIRE(nobody.is_ready());
  const auto open = [&](const Child& child) {
    return read_of(TargetFiles(proc().get(), kTimeout).open(child.id(), {}, path, id));
  };
  BOOST_TEST(open(nobody) == "text");
  std::filesystem::permissions(path, std::filesystem::perms{0400});
  BOOST_TEST(open(nobody) == "none");
  BOOST_TEST(open(root) == "text");
  // The calling thread still has its rights.
  BOOST_TEST(read_of(sdk::Fd(::open(path.c_str(), O_RDONLY))) == "text");
}

// The file is readable only by its group.
BOOST_AUTO_TEST_CASE(opens_paths_with_the_groups_of_the_process, *needs_root()) {
  const TemporaryDirectory scratch;
  std::filesystem::permissions(scratch / "", std::filesystem::perms{0755});
  const std::string path = scratch / "file";
  std::ofstream(path) << "text";
  constexpr gid_t kGroup = 54321;
  BOOST_REQUIRE(::chown(path.c_str(), 0, kGroup) == 0);
  std::filesystem::permissions(path, std::filesystem::perms{0040});
  const Child member([] {
    const gid_t groups[] = {kGroup};
    return ::setgroups(1, groups) == 0 && ::setresgid(kNobody, kNobody, kNobody) == 0 &&
           ::setresuid(kNobody, kNobody, kNobody) == 0;
  });
  const Child nobody(become_nobody);
  TargetFiles files(proc().get(), kTimeout);
  BOOST_TEST(read_of(files.open(member.id(), {}, path, id_of(path))) == "text");
  BOOST_TEST(read_of(files.open(nobody.id(), {}, path, id_of(path))) == "none");
}

// The files may have been in a directory that root cannot enter without capabilities.
BOOST_AUTO_TEST_CASE(opens_files_of_exited_processes_as_their_user, *needs_root()) {
  const TemporaryDirectory scratch;
  const std::string path = scratch / "file";
  std::ofstream(path) << "text";
  const FileId id = id_of(path);
  BOOST_REQUIRE(::chown((scratch / "").c_str(), kNobody, kNobody) == 0);
  const auto open = [&](const std::optional<TargetOwner>& owner) {
    return read_of(TargetFiles(proc().get(), kTimeout).open(1 << 22, {}, path, id, owner));
  };
  BOOST_TEST(open({}) == "none");
  BOOST_TEST(open(TargetOwner{kNobody, kNobody, {}, 0}) == "text");
  BOOST_TEST(open(TargetOwner{kNobody - 1, kNobody, {}, 0}) == "none");
}

// Capabilities that the user does not have open no file, not even a mapped one: a user may execute
// programs without the right to read them.
BOOST_AUTO_TEST_CASE(file_capabilities_open_no_file, *needs_root()) {
  const TemporaryDirectory scratch;
  const std::string path = scratch / "file";
  std::ofstream(path) << "text";
  const MappedPath mapped(path);
  BOOST_REQUIRE(::chown(path.c_str(), kNobody, kNobody) == 0);
  std::filesystem::permissions(path, std::filesystem::perms{0500});
  const auto open = [&](bool has_file_capabilities) {
    TargetFiles files(proc().get(), kTimeout, has_file_capabilities);
    return read_of(files.open(kSelf, mapped.range(), path, (*mapped).file));
  };
  BOOST_TEST(open(false) == "text");
  BOOST_TEST(open(true) == "none");
  std::filesystem::permissions(path, std::filesystem::perms{0444});
  BOOST_TEST(open(true) == "text");
}

class PerfMap {
 public:
  explicit PerfMap(std::uint64_t process) : path_("/tmp/perf-" + std::to_string(process) + ".map") {
    std::filesystem::remove(path_);
    std::ofstream(path_) << "1000 10 made\n";
  }
  ~PerfMap() { std::filesystem::remove(path_); }
  PerfMap(const PerfMap&) = delete;
  PerfMap& operator=(const PerfMap&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string perf_map_of(std::uint64_t process, bool has_file_capabilities = false,
                        const std::optional<TargetOwner>& owner = {}) {
  return TargetFiles(proc().get(), kTimeout, has_file_capabilities).perf_map(process, owner).text;
}

std::uint64_t make_exited_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  BOOST_REQUIRE(::waitpid(child, nullptr, 0) == child);
  return static_cast<std::uint64_t>(child);
}

// sysfs is not on a disk, so its files are copied.
BOOST_AUTO_TEST_CASE(copies_no_more_than_the_limit) {
  const std::string path = "/sys/kernel/notes";
  const std::uint64_t size = std::filesystem::file_size(path);
  const auto copies = [&](std::uint64_t most) {
    TargetFiles files(proc().get(), kTimeout, false, most);
    std::size_t opened = 0;
    for (int i = 0; i < 3; ++i) opened += files.open(kSelf, {}, path, id_of(path)) ? 1 : 0;
    BOOST_TEST(files.unopened_files().size() == (opened < 3 ? 1u : 0u));
    if (opened < 3) BOOST_TEST(files.unopened_files()[0] == path);
    return opened;
  };
  BOOST_TEST(copies(size - 1) == 0u);
  BOOST_TEST(copies(size) == 1u);
  BOOST_TEST(copies(3 * size - 1) == 2u);
  BOOST_TEST(copies(3 * size) == 3u);
}

BOOST_AUTO_TEST_CASE(closed_copies_no_longer_count) {
  const std::string path = "/sys/kernel/notes";
  TargetFiles files(proc().get(), kTimeout, false, std::filesystem::file_size(path));
  for (int i = 0; i < 3; ++i) {
    sdk::Fd fd = files.open(kSelf, {}, path, id_of(path));
    BOOST_TEST(bool(fd));
    files.close(std::move(fd));
  }
  const sdk::Fd kept = files.open(kSelf, {}, path, id_of(path));
  BOOST_TEST(bool(kept));
  files.close(files.open(kSelf, {}, path, id_of(path)));
  BOOST_TEST(!files.open(kSelf, {}, path, id_of(path)));
  BOOST_TEST(files.unopened_files().size() == 1u);
}

// The change time of a copy differs from that of the file.
BOOST_AUTO_TEST_CASE(shows_the_stamp_of_the_file_and_not_that_of_its_copy) {
  const TemporaryDirectory scratch;
  const std::string copied = "/sys/kernel/notes", local = scratch / "file";
  std::ofstream(local) << "text";
  TargetFiles files(proc().get(), kTimeout);
  for (const std::string& path : {copied, local}) {
    const sdk::Fd fd = files.open(kSelf, {}, path, id_of(path));
    const auto expected = read_stamp(sdk::Fd(::open(path.c_str(), O_PATH | O_CLOEXEC)).get());
    BOOST_REQUIRE((fd && expected && files.stamp()));
    BOOST_TEST(files.stamp()->changed_ns == expected->changed_ns);
    BOOST_TEST(files.stamp()->size == expected->size);
  }
  BOOST_TEST(!files.open(kSelf, {}, scratch / "missing", id_of(local)));
  BOOST_TEST(!files.stamp());
}

BOOST_AUTO_TEST_CASE(reads_perf_maps_of_exited_processes) {
  const std::uint64_t process = make_exited_process(), now = realtime_ns();
  const PerfMap map(process);
  const auto map_of = [&](uid_t user, std::uint64_t started) {
    return perf_map_of(process, false, TargetOwner{user, ::getegid(), {}, started});
  };
  BOOST_TEST(perf_map_of(process) == "");  // its owner is unknown
  BOOST_TEST(map_of(::geteuid(), now) == "1000 10 made\n");
  BOOST_TEST(map_of(::geteuid(), now + 3600 * kNsPerSecond) == "");
  BOOST_TEST(map_of(::geteuid() + 1, now) == "");
}

// Entries written after a process id was reused belong to the living process.
BOOST_AUTO_TEST_CASE(distinguishes_perf_maps_after_a_process_id_is_reused) {
  const PerfMap map(kSelf);
  const TargetOwner before{::geteuid(), ::getegid(), {}, 1'000'000'000 * kNsPerSecond};
  BOOST_TEST(perf_map_of(kSelf, false, before) == "");
  const timespec between[2] = {{1'000'000'100, 0}, {1'000'000'100, 0}};
  BOOST_REQUIRE(::utimensat(AT_FDCWD, map.path().c_str(), between, 0) == 0);
  BOOST_TEST(perf_map_of(kSelf, false, before) == "1000 10 made\n");
}

BOOST_AUTO_TEST_CASE(reads_the_newest_entries_of_large_perf_maps) {
  const PerfMap map(kSelf);
  std::ofstream(map.path()) << "1000 10 old\n2000 10 middle\n3000 10 new\n";
  const auto read = [](std::size_t most) {
    TargetFiles files(proc().get(), kTimeout, false, TargetFiles::kMaxCopiedBytes, most);
    return files.perf_map(kSelf);
  };
  BOOST_TEST((!read(39).is_truncated && read(30).is_truncated));
  BOOST_TEST(read(30).text == "2000 10 middle\n3000 10 new\n");
  BOOST_TEST(read(5).text == "");
}

BOOST_AUTO_TEST_CASE(finds_perf_maps) {
  {
    const PerfMap map(kSelf);
    BOOST_TEST(perf_map_of(kSelf) == "1000 10 made\n");
  }
  BOOST_TEST(perf_map_of(kSelf) == "");
}

BOOST_AUTO_TEST_CASE(ignores_perf_maps_older_than_their_process) {
  const PerfMap map(kSelf);
  const timespec long_ago[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  BOOST_REQUIRE(::utimensat(AT_FDCWD, map.path().c_str(), long_ago, 0) == 0);
  BOOST_TEST(perf_map_of(kSelf) == "");
}

BOOST_AUTO_TEST_CASE(ignores_perf_maps_that_are_links_or_pipes) {
  const PerfMap map(kSelf);
  const std::string renamed_path = map.path() + ".away";
  std::filesystem::rename(map.path(), renamed_path);
  std::filesystem::create_symlink(renamed_path, map.path());
  BOOST_TEST(perf_map_of(kSelf) == "");
  std::filesystem::remove(renamed_path);
  std::filesystem::remove(map.path());
  BOOST_REQUIRE(::mkfifo(map.path().c_str(), 0600) == 0);
  BOOST_TEST(perf_map_of(kSelf) == "");
}

BOOST_AUTO_TEST_CASE(ignores_perf_maps_of_other_users, *needs_root()) {
  const Child nobody(become_nobody);
  const PerfMap map(nobody.id());
  BOOST_TEST(perf_map_of(nobody.id()) == "");  // it belongs to root
  BOOST_REQUIRE(::chown(map.path().c_str(), kNobody, kNobody) == 0);
  BOOST_TEST(perf_map_of(nobody.id()) == "1000 10 made\n");
  std::filesystem::permissions(map.path(), std::filesystem::perms{0600});
  BOOST_TEST(perf_map_of(nobody.id()) == "1000 10 made\n");
  BOOST_TEST(perf_map_of(nobody.id(), true) == "");  // the user is root without capabilities
  BOOST_REQUIRE(::chown(map.path().c_str(), 0, 0) == 0);
  BOOST_TEST(perf_map_of(nobody.id()) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::target_files_test

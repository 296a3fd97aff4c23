// Tests that mapped files of processes stay pinned until they are read.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/capture/pinned_files.hpp"
#include "core/capture/target_files.hpp"
#include "tests/unit/capture/own_files.hpp"
#include "tests/unit/support/files.hpp"

namespace ctprof::pinned_files_test {
namespace {

using namespace hand_made;

const std::uint64_t kSelf = static_cast<std::uint64_t>(::getpid());

bool can_follow_mappings() { return ::geteuid() == 0; }

// Following links in /proc/PID/map_files requires CAP_CHECKPOINT_RESTORE.
boost::unit_test::precondition needs_map_files() {
  return boost::unit_test::precondition(
      [](boost::unit_test::test_unit_id) { return can_follow_mappings(); });
}

struct stat status_of(const PinnedFile& file) {
  struct stat status {};
  BOOST_REQUIRE(::fstat(file.descriptor->get(), &status) == 0);
  return status;
}

BOOST_AUTO_TEST_SUITE(pinned_files_test)

BOOST_AUTO_TEST_CASE(pins_a_mapped_file_once, *needs_map_files()) {
  const TemporaryDirectory scratch;
  const MappedFile one(scratch / "one", "text"), two(scratch / "two", "text");
  PinnedFiles files(proc().get(), kTimeout);
  for (int i = 0; i < 3; ++i)
    for (const MappedFile* file : {&one, &two}) files.request(kSelf, file->mapping());
  const auto pinned = files.take();
  BOOST_REQUIRE_EQUAL(pinned.size(), 2u);
  BOOST_TEST(pinned[0].file.inode == one.mapping().file.inode);
  BOOST_TEST(pinned[0].file.version == 1u);
  BOOST_TEST(pinned[1].file.version == 2u);
  BOOST_TEST(pinned[0].tgid == kSelf);
  BOOST_TEST(status_of(pinned[1]).st_ino == two.mapping().file.inode);
  char byte;
  BOOST_TEST(::read(pinned[0].descriptor->get(), &byte, 1) < 0);  // O_PATH does not permit reading
}

// Otherwise a new file could reuse the inode.
BOOST_AUTO_TEST_CASE(keeps_the_inode_of_a_removed_file, *needs_map_files()) {
  const TemporaryDirectory scratch;
  PinnedFiles files(proc().get(), kTimeout);
  std::uint64_t inode = 0;
  std::vector<PinnedFile> pinned;
  {
    const MappedFile file(scratch / "file", "text");
    inode = file.mapping().file.inode;
    files.request(kSelf, file.mapping());
    pinned = files.take();
  }
  ::unlink((scratch / "file").c_str());
  BOOST_REQUIRE_EQUAL(pinned.size(), 1u);
  BOOST_TEST(status_of(pinned[0]).st_ino == inode);
  BOOST_TEST(status_of(pinned[0]).st_nlink == 0u);
}

BOOST_AUTO_TEST_CASE(lists_each_content_of_a_file, *needs_map_files()) {
  const TemporaryDirectory scratch;
  const MappedFile file(scratch / "file", "text");
  PinnedFiles files(proc().get(), kTimeout);
  const auto request_file = [&] {
    files.request(kSelf, file.mapping());
    files.wait();
  };
  request_file();
  ::chmod((scratch / "file").c_str(), 0600);
  request_file();
  file.overwrite("another text");
  request_file();
  const auto contents = files.take();
  BOOST_REQUIRE_EQUAL(contents.size(), 2u);
  BOOST_TEST(contents[0].descriptor == contents[1].descriptor);
  BOOST_TEST(contents[0].stamp.size == 4u);
  BOOST_TEST(contents[1].stamp.size == 12u);
  BOOST_TEST(contents[1].file.version == 2u);
}

BOOST_AUTO_TEST_CASE(pins_no_more_files_than_the_limit, *needs_map_files()) {
  const TemporaryDirectory scratch;
  const MappedFile one(scratch / "one", "text"), two(scratch / "two", "text");
  PinnedFiles files(proc().get(), kTimeout, 1);
  files.request(kSelf, one.mapping());
  files.request(kSelf, two.mapping());
  BOOST_TEST(files.take().size() == 1u);
  files.request(kSelf, two.mapping());  // a request of the next window
  BOOST_TEST(files.take().size() == 1u);
}

// The path may lead anywhere; only the mapping itself is trusted.
BOOST_AUTO_TEST_CASE(opens_no_paths) {
  const TemporaryDirectory scratch;
  Mapping mapping{0x1000, 0x2000, 0, {}, scratch / "file"};
  {
    const MappedFile file(scratch / "file", "text");
    mapping.file = file.mapping().file;
  }
  PinnedFiles files(proc().get(), kTimeout);
  files.request(kSelf, mapping);
  files.request(1 << 22, mapping);
  mapping.file.inode = 0;
  files.request(kSelf, mapping);
  BOOST_TEST(files.take().empty());
}

// --- opening pinned files through target_files.hpp ---

std::string read_of(const sdk::Fd& fd) {
  char text[64];
  const ssize_t content_now = fd ? ::pread(fd.get(), text, sizeof text, 0) : 0;
  return fd ? std::string(text, static_cast<std::size_t>(content_now)) : "none";
}

BOOST_AUTO_TEST_CASE(opens_pinned_files_only_with_their_content, *needs_map_files()) {
  const TemporaryDirectory scratch;
  const MappedFile file(scratch / "file", "text");
  PinnedFiles files(proc().get(), kTimeout);
  files.request(kSelf, file.mapping());
  const auto pinned = files.take();
  BOOST_REQUIRE_EQUAL(pinned.size(), 1u);
  const MappedContent content{pinned[0].descriptor, pinned[0].stamp, 0};
  TargetFiles target(proc().get(), kTimeout);
  // The process has exited.
  const auto open = [&] {
    return read_of(target.open(1 << 22, {}, scratch / "file", file.mapping().file, {}, content));
  };
  BOOST_TEST(open() == "text");
  ::unlink((scratch / "file").c_str());
  BOOST_TEST(open() == "text");
  BOOST_TEST(!target.is_changed());
  file.overwrite("another text");
  BOOST_TEST(open() == "none");
  BOOST_TEST(target.is_changed());
}

BOOST_AUTO_TEST_CASE(opens_other_files_only_if_they_are_older_than_the_mapping) {
  const TemporaryDirectory scratch;
  write_file(scratch / "file", "text");
  const FileStamp stamp = *read_stamp(sdk::Fd(::open((scratch / "file").c_str(), O_PATH)).get());
  const FileId id = id_of(scratch / "file");
  TargetFiles target(proc().get(), kTimeout);
  const auto open = [&](std::uint64_t mapped_unix_ns) {
    MappedContent content;
    content.mapped_unix_ns = mapped_unix_ns;
    return read_of(target.open(1 << 22, {}, scratch / "file", id, {}, content));
  };
  BOOST_TEST(open(stamp.changed_ns) == "text");
  BOOST_TEST(!target.is_changed());
  BOOST_TEST(open(stamp.changed_ns - 1) == "none");
  BOOST_TEST(target.is_changed());
  // The modification time can be set by the owner, so it does not decide.
  const timespec long_ago[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  BOOST_REQUIRE(::utimensat(AT_FDCWD, (scratch / "file").c_str(), long_ago, 0) == 0);
  BOOST_TEST(open(stamp.changed_ns - 1) == "none");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::pinned_files_test

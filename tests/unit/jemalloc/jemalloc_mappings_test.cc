// Tests the mappings of a process: their files, names and start addresses.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "ctprof/files.hpp"
#include "plugins/jemalloc-ptrace/finder/mappings.hpp"
#include "tests/unit/support/fixtures.hpp"

namespace jemalloc_mappings_test {
using ctprof::jemalloc::FileId;
using ctprof::jemalloc::for_each_code_mapping;
using ctprof::jemalloc::MappedFile;
using ctprof::jemalloc::parse_code_files;

BOOST_AUTO_TEST_SUITE(jemalloc_mappings_test)

BOOST_AUTO_TEST_CASE(a_library_starts_at_its_first_mapping) {
  const auto files = parse_code_files(
      "7f2b58a00000-7f2b58a09000 r--p 00000000 fe:01 1835034                    "
      "/usr/lib/libjemalloc.so.2\n"
      "7f2b58a09000-7f2b58aaf000 r-xp 00009000 fe:01 1835034                    "
      "/usr/lib/libjemalloc.so.2\n"
      "7f2b58ac7000-7f2b58acd000 rw-p 000c6000 fe:01 1835034                    "
      "/usr/lib/libjemalloc.so.2\n");
  BOOST_REQUIRE(files.size() == 1u);
  BOOST_TEST(files[0].path == "/usr/lib/libjemalloc.so.2");
  BOOST_TEST(files[0].file.device == makedev(0xfe, 1));
  BOOST_TEST(files[0].file.inode == 1835034u);
  BOOST_TEST(files[0].range == "7f2b58a09000-7f2b58aaf000");
  BOOST_TEST(files[0].first_mapping.start == 0x7f2b58a00000u);
  BOOST_TEST(files[0].first_mapping.offset == 0u);
  BOOST_TEST(!files[0].is_deleted);
}

BOOST_AUTO_TEST_CASE(reads_names_with_special_characters) {
  const auto files = parse_code_files(
      "00400000-00401000 r-xp 00000000 08:01 5                                  /opt/a b\\012c "
      "(deleted)\n"
      "10000000-10001000 r-xp 00000000 08:01 6                                  /opt/x (deleted) "
      "(deleted)\n"
      "20000000-20001000 r-xp 00000000 08:01 7                                  /opt/\xff\xfe\n");
  BOOST_REQUIRE(files.size() == 3u);
  BOOST_TEST(files[0].path == "/opt/a b\nc");
  BOOST_TEST(files[0].is_deleted);
  BOOST_TEST(files[1].path == "/opt/x (deleted)");
  BOOST_TEST(files[2].path == "/opt/\xff\xfe");
}

BOOST_AUTO_TEST_CASE(ignores_mappings_that_are_not_code_of_a_file) {
  BOOST_TEST(parse_code_files("").empty());
  BOOST_TEST(
      parse_code_files("7ffd0000-7ffe0000 r-xp 00000000 00:00 0                          [vdso]\n")
          .empty());
  BOOST_TEST(
      parse_code_files("00400000-00401000 r--p 00000000 08:01 5                          /opt/a\n")
          .empty());
  BOOST_TEST(parse_code_files("00400000-00401000 r-xp 00000000 08:01 0 \n").empty());
}

BOOST_AUTO_TEST_CASE(skips_malformed_lines) {
  const auto files = parse_code_files(
      "nonsense\n\n-\n00400000\n00401000-00400000 r-xp 0 08:01 5 /backwards\n00400000-00401000 "
      "r-xp 0 08:zz 5 /device\n"
      "00400000-00401000 r-xp 99999999999999999 08:01 5 /too-far\n00400000-00401000 rx 0 08:01 5 "
      "/rights\n"
      "00400000-00401000 r-xp 0 08:01 5 /sound");
  BOOST_REQUIRE(files.size() == 1u);
  BOOST_TEST(files[0].path == "/sound");
}

BOOST_AUTO_TEST_CASE(lists_each_file_once) {
  const auto files = parse_code_files(
      "00400000-00401000 r-xp 00000000 08:01 5 /a\n00401000-00402000 r-xp 00001000 08:01 5 /a\n"
      "10000000-10001000 r-xp 00000000 08:02 5 /b\n20000000-20001000 r-xp 00000000 08:01 5 /a\n");
  BOOST_REQUIRE(files.size() == 2u);
  BOOST_TEST(files[0].path == "/a");
  BOOST_TEST(files[1].path == "/b");
}

BOOST_AUTO_TEST_CASE(ranges_have_the_names_of_map_files) {
  const auto files = parse_code_files("00400000-00401000 r-xp 00000000 08:01 5 /a\n");
  BOOST_REQUIRE(files.size() == 1u);
  BOOST_TEST(files[0].range == "400000-401000");
}

namespace {

void expect_same(const std::vector<MappedFile>& from_queries,
                 const std::vector<MappedFile>& from_text) {
  BOOST_REQUIRE(from_queries.size() == from_text.size());
  for (std::size_t i = 0; i < from_text.size(); ++i) {
    BOOST_TEST(from_queries[i].path == from_text[i].path);
    BOOST_TEST(from_queries[i].range == from_text[i].range);
    BOOST_TEST((from_queries[i].file == from_text[i].file));
    BOOST_TEST(from_queries[i].first_mapping.start == from_text[i].first_mapping.start);
    BOOST_TEST(from_queries[i].first_mapping.offset == from_text[i].first_mapping.offset);
  }
}

std::string text_of(int file) {
  std::string whole;
  std::array<char, 16384> piece;
  for (ssize_t got; (got = ::read(file, piece.data(), piece.size())) > 0;)
    whole.append(piece.data(), static_cast<std::size_t>(got));
  return whole;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_ioctl_gives_the_same_result) {
  const ctprof::sdk::Fd maps(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  const auto read = parse_code_files(text_of(maps.get()));
  BOOST_TEST(!read.empty());
  std::vector<MappedFile> queried_files;
  const int error = ctprof::jemalloc::query_code_files(maps.get(), queried_files);
  if (error == ENOTTY) return;  // before Linux 6.11
  BOOST_REQUIRE(error == 0);
  expect_same(queried_files, read);
  ctprof::sdk::Fd names(::open("/proc/self/map_files", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  BOOST_REQUIRE(ctprof::jemalloc::query_code_files(maps.get(), std::move(names), queried_files) ==
                0);
  expect_same(queried_files, read);
}

BOOST_AUTO_TEST_CASE(the_ioctl_lists_code_without_names) {
  const ctprof::sdk::Fd maps(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  std::vector<FileId> listed_files;
  const int error = for_each_code_mapping(maps.get(), [&](const FileId& file) {
    if (std::find(listed_files.begin(), listed_files.end(), file) == listed_files.end())
      listed_files.push_back(file);
    return true;
  });
  if (error == ENOTTY) return;  // before Linux 6.11
  BOOST_REQUIRE(error == 0);
  std::vector<FileId> read;
  for (const MappedFile& file : parse_code_files(text_of(maps.get()))) read.push_back(file.file);
  BOOST_TEST((listed_files == read));
  int call_count = 0;
  BOOST_TEST(for_each_code_mapping(maps.get(), [&](const FileId&) { return ++call_count < 2; }) ==
             0);
  BOOST_TEST(call_count == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace jemalloc_mappings_test

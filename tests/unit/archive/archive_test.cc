// Tests a directory of recordings: appending, reading, damaged files, and interrupted recorders.

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "core/archive/time_text.hpp"
#include "core/file/capture_file.hpp"
#include "core/file/file.hpp"
#include "tests/unit/archive/archive_fixture.hpp"
#include "tests/unit/support/files.hpp"

namespace ctprof::tests::archive_test {
namespace {

BOOST_AUTO_TEST_SUITE(archive_test)

BOOST_AUTO_TEST_CASE(names_files_by_hour) {
  BOOST_TEST(kFirst == "20261123T15Z-01.ctprof.zst");
  BOOST_TEST((parse_hour_file(kFirst) == hour_file_at(kBegin)));
  BOOST_TEST((parse_hour_file("20261123T15Z-123.ctprof.zst") == HourFile{kBegin / kHour, 123}));
  for (const char* name :
       {"", "x", "20261123T15Z.ctprof.zst", "20261123T15Z-1.ctprof.zst",
        "20261123T25Z-01.ctprof.zst", "20261123T15Z-01.ctprof", "20261123T15Z-001.ctprof.zst",
        "20261123T15Z+01.ctprof.zst", "20260230T15Z-01.ctprof.zst", "20261123T15Z--1.ctprof.zst"})
    BOOST_TEST(!parse_hour_file(name), name);
}

BOOST_AUTO_TEST_CASE(joins_consecutive_windows) {
  ArchiveFixture world;
  Archive archive = world.open();
  BOOST_TEST(world.add_windows(archive, kBegin + 3 * kHour, kMinute).empty());
  BOOST_TEST((world.names() ==
              std::set<std::string>{kFirst, file_name_of(hour_file_at(kBegin + kHour)),
                                    file_name_of(hour_file_at(kBegin + 2 * kHour)), kIndexName}));
  SpanResult all = checked(world.read_windows());
  BOOST_TEST(all.window_count == 180u);
  BOOST_TEST(all.messages.empty());
  BOOST_REQUIRE(all.runs.size() == 1u);
  BOOST_TEST(seconds_in(all.runs[0]) == 3 * 3600u);
  // Each file can also be used alone by other commands.
  const auto runs = CaptureFile::open(world.path(kFirst))->load_runs(shipped_vocabulary());
  BOOST_REQUIRE_MESSAGE(runs, runs.error().text);
  BOOST_TEST(runs->size() == 60u);
}

BOOST_AUTO_TEST_CASE(reports_a_removed_directory) {
  ArchiveFixture world;
  Archive archive = world.open();
  world.add_windows(archive, kBegin + kMinute, kMinute);
  BOOST_TEST(!archive.is_removed());
  fs::rename(world.path(), world.path() + "-moved");
  BOOST_TEST(!archive.is_removed());
  fs::remove_all(world.path() + "-moved");
  BOOST_TEST(archive.is_removed());
  BOOST_TEST(!world.add_windows(archive, kBegin + 2 * kMinute, kMinute).empty());
}

BOOST_AUTO_TEST_CASE(a_span_selects_overlapping_windows) {
  ArchiveFixture world;
  Archive archive = world.open();
  world.add_windows(archive, kBegin + kHour, kMinute);
  const auto seconds = [&](std::uint64_t since, std::uint64_t until) {
    SpanResult spanned =
        checked(world.read_windows({kBegin + since * kSecond, kBegin + until * kSecond}));
    BOOST_REQUIRE(spanned.runs.size() == 1u);
    BOOST_TEST(spanned.messages.empty());
    return seconds_in(spanned.runs[0]);
  };
  BOOST_TEST(seconds(600, 1200) == 600u);
  BOOST_TEST(seconds(601, 1199) == 600u);
  BOOST_TEST(seconds(599, 1201) == 720u);
  BOOST_TEST(seconds(610, 620) == 60u);
  const SpanResult before = checked(world.read_windows({kBegin - kHour, kBegin + kMinute}));
  BOOST_TEST(before.window_count == 1u);
  BOOST_REQUIRE(before.messages.size() == 1u);
  BOOST_TEST(before.messages[0] == "the recordings start at " + format_local_time(kBegin));
  const auto none = world.read_windows({kBegin - kHour, kBegin});
  BOOST_REQUIRE(!none);
  BOOST_TEST(none.error().text.find("it has no window in the requested span") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(gaps_and_boots_separate_runs) {
  ArchiveFixture world;
  Archive archive = world.open();
  world.add_windows(archive, kBegin + 5 * kMinute, kMinute);
  world.now += 3 * kMinute;
  world.add_windows(archive, kBegin + 10 * kMinute, kMinute);
  // The wall clock was set back, and the boot differs.
  archive.add(window_of(kBegin + 9 * kMinute, kBegin + 11 * kMinute, "c", kBegin + 8 * kMinute));
  SpanResult spanned = checked(world.read_windows());
  BOOST_REQUIRE(spanned.runs.size() == 3u);
  BOOST_TEST(seconds_in(spanned.runs[0]) == 300u);
  BOOST_TEST(seconds_in(spanned.runs[1]) == 120u);
  BOOST_TEST(seconds_in(spanned.runs[2]) == 120u);
  BOOST_REQUIRE(spanned.messages.size() == 2u);
  BOOST_TEST(spanned.messages[0] == "no recording exists from " +
                                        format_local_time(kBegin + 5 * kMinute) + " to " +
                                        format_local_time(kBegin + 8 * kMinute) + " (3 min)");
  BOOST_TEST(spanned.messages[1].find("rebooted") != std::string::npos);
}

// Windows of the same boot are ordered by boot time, because the wall clock can be set.
BOOST_AUTO_TEST_CASE(joins_windows_although_the_clock_was_set_back) {
  constexpr std::uint64_t kBooted = kBegin - kDay, kStep = 5 * kMinute;
  ArchiveFixture world;
  Archive archive = world.open();
  archive.add(window_of(kBegin + 10 * kMinute, kBegin + 12 * kMinute, "b", kBooted));
  for (const std::uint64_t minute : {12, 13})
    archive.add(window_of(kBegin + minute * kMinute - kStep,
                          kBegin + (minute + 1) * kMinute - kStep, "b", kBooted - kStep));
  SpanResult spanned = checked(world.read_windows());
  BOOST_TEST(spanned.messages.empty());
  BOOST_REQUIRE(spanned.runs.size() == 1u);
  BOOST_TEST(seconds_in(spanned.runs[0]) == 240u);
}

// The wall clock can be set during a gap. Only it continues over a reboot.
BOOST_AUTO_TEST_CASE(measures_a_gap_by_the_clock_that_continues_over_it) {
  constexpr std::uint64_t kBooted = kBegin - kDay, kStep = 5 * kMinute;
  ArchiveFixture world;
  Archive archive = world.open();
  archive.add(window_of(kBegin + 10 * kMinute, kBegin + 12 * kMinute, "b", kBooted));
  archive.add(window_of(kBegin + 15 * kMinute - kStep, kBegin + 16 * kMinute - kStep, "b",
                        kBooted - kStep));
  archive.add(window_of(kBegin + 15 * kMinute, kBegin + 16 * kMinute, "c", kBegin + 14 * kMinute));
  const SpanResult spanned = checked(world.read_windows());
  BOOST_REQUIRE_EQUAL(spanned.messages.size(), 2u);
  BOOST_TEST(spanned.messages[0].ends_with(" (3 min)"), spanned.messages[0]);
  BOOST_TEST(spanned.messages[1].ends_with(" (4 min; the host was rebooted)"), spanned.messages[1]);
}

// A write can stop at any byte. Complete windows are readable, and recording can continue.
BOOST_AUTO_TEST_CASE(omits_and_truncates_an_incomplete_end) {
  ArchiveFixture world;
  {
    Archive archive = world.open();
    world.add_windows(archive, kBegin + 3 * kMinute, kMinute);
  }
  const std::uint64_t size = fs::file_size(world.path(kFirst));
  const auto directory = Directory::open(world.path());
  const std::uint64_t two = directory->files()->front().windows[2].offset;
  for (std::uint64_t cut = two + 1; cut < size; cut += 97) {
    BOOST_TEST_CONTEXT("cut at " << cut) {
      fs::resize_file(world.path(kFirst), cut);
      const SpanResult left = checked(world.read_windows());
      BOOST_TEST(left.window_count == 2u);
      BOOST_REQUIRE(left.messages.size() == 1u);
      BOOST_TEST(left.messages[0].find("incomplete") != std::string::npos);
      BOOST_TEST(CaptureFile::open(world.path(kFirst))->load_runs(shipped_vocabulary())->size() ==
                 2u);
      Archive archive = world.open();
      BOOST_TEST(archive.open_messages().size() == 1u);
      archive.add(window_of(kBegin + 2 * kMinute, kBegin + 3 * kMinute));
      const SpanResult again = checked(world.read_windows());
      BOOST_TEST(again.window_count == 3u);
      BOOST_TEST(again.runs.size() == 1u);
      BOOST_TEST(again.messages.empty());
      BOOST_REQUIRE(fs::file_size(world.path(kFirst)) == size);
    }
  }
}

// The state after a power failure.
BOOST_AUTO_TEST_CASE(reports_an_invalid_end_and_starts_a_new_file) {
  ArchiveFixture world;
  {
    Archive archive = world.open();
    world.add_windows(archive, kBegin + 2 * kMinute, kMinute);
  }
  std::ofstream(world.path(kFirst), std::ios::app) << std::string(5000, '\0');
  const SpanResult left = checked(world.read_windows());
  BOOST_TEST(left.window_count == 2u);
  BOOST_REQUIRE(left.messages.size() == 1u);
  BOOST_TEST(left.messages[0].find("is not read beyond byte") != std::string::npos);
  Archive archive = world.open();
  world.add_windows(archive, kBegin + 3 * kMinute, kMinute);
  BOOST_TEST(archive.files().size() == 2u);
  const SpanResult all = checked(world.read_windows());
  BOOST_TEST(all.window_count == 3u);
  BOOST_TEST(all.runs.size() == 1u);
}

BOOST_AUTO_TEST_CASE(does_not_append_to_a_file_that_was_shortened) {
  ArchiveFixture world;
  Archive archive = world.open();
  world.add_windows(archive, kBegin + 2 * kMinute, kMinute);
  const std::uint64_t shortened = fs::file_size(world.path(kFirst)) / 2 - 1;
  fs::resize_file(world.path(kFirst), shortened);
  world.add_windows(archive, kBegin + 3 * kMinute, kMinute);
  BOOST_TEST(fs::file_size(world.path(kFirst)) == shortened);
  BOOST_REQUIRE(archive.files().size() == 2u);
  const std::string second = file_name_of(archive.files()[1].name);
  BOOST_TEST(CaptureFile::open(world.path(second))->load_runs(shipped_vocabulary())->size() == 1u);
}

BOOST_AUTO_TEST_CASE(rebuilds_a_missing_or_damaged_index) {
  ArchiveFixture world;
  {
    Archive archive = world.open();
    world.add_windows(archive, kBegin + 2 * kHour, 10 * kMinute);
  }
  const std::string index = file_text(world.path(kIndexName));
  std::string flipped = index, doubled = index + index,
              without_first = index.substr(index.find('\n') + 1);
  for (std::size_t at = 3; at < flipped.size(); at += 61) flipped[at] ^= 1;
  for (const std::string& damaged :
       {std::string(), std::string(3000, '\xff'), index.substr(0, index.size() / 2), flipped,
        doubled, without_first}) {
    std::ofstream(world.path(kIndexName)) << damaged;
    BOOST_TEST(checked(world.read_windows()).window_count == 12u);
    BOOST_TEST(checked(world.read_windows()).messages.empty());
    world.open();
    BOOST_TEST(file_text(world.path(kIndexName)) == index);
  }
  fs::remove(world.path(kIndexName));
  BOOST_TEST(checked(world.read_windows()).window_count == 12u);
}

// After a recorder was killed, the last windows of the file are found by reading it.
BOOST_AUTO_TEST_CASE(finds_windows_that_the_index_lacks) {
  ArchiveFixture world;
  {
    Archive archive = world.open();
    world.add_windows(archive, kBegin + kHour, 10 * kMinute);
  }
  std::vector<std::string> lines;
  std::ifstream index(world.path(kIndexName));
  for (std::string line; std::getline(index, line);) lines.push_back(line + '\n');
  BOOST_REQUIRE(lines.size() >= 6u);
  while (!lines.empty()) {
    lines.pop_back();
    std::ofstream shorter(world.path(kIndexName));
    for (const std::string& line : lines) shorter << line;
    shorter.close();
    for (std::uint64_t begin = kBegin; begin < kBegin + kHour; begin += 10 * kMinute) {
      BOOST_TEST_CONTEXT("index of " << lines.size() << " lines, window of "
                                     << format_local_time(begin)) {
        SpanResult found = checked(world.read_windows({begin + kSecond, begin + kMinute}));
        BOOST_REQUIRE(found.window_count == 1u);
        BOOST_TEST(found.runs[0].window->opened_at.wall_unix_ns == begin);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(permits_one_recorder_at_a_time) {
  ArchiveFixture world;
  {
    const Archive first = world.open();
    ArchiveOptions options;
    const auto second = Archive::open(world.path(), options);
    BOOST_REQUIRE(!second);
    BOOST_TEST(second.error().text == "recording into the directory '" + world.path() +
                                          "': another ctprof records into it; stop that one, or "
                                          "name another directory");
  }
  world.open();
}

BOOST_AUTO_TEST_CASE(ignores_foreign_files) {
  ArchiveFixture world;
  std::ofstream(world.path("notes")) << "mine";
  const auto refused = Archive::open(world.path(), {});
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().text.find("such as 'notes'") != std::string::npos);
  fs::remove(world.path("notes"));
  fs::create_symlink("/etc/passwd", world.path(kFirst));
  Archive archive = world.open();
  world.add_windows(archive, kBegin + kMinute, kMinute);
  BOOST_TEST(fs::is_symlink(world.path(kFirst)));
  BOOST_TEST(checked(world.read_windows()).window_count == 1u);
}

// Returns why recording into a directory is refused, or "" if it is accepted.
std::string refusal_of(const std::string& path) {
  const auto archive = Archive::open(path, {});
  return archive ? "" : archive.error().text;
}

BOOST_AUTO_TEST_CASE(refuses_directories_that_others_can_write) {
  ArchiveFixture world;
  for (const mode_t mode : {0775u, 0757u}) {
    BOOST_REQUIRE(::chmod(world.path().c_str(), mode) == 0);
    BOOST_TEST(refusal_of(world.path()) ==
               "recording into the directory '" + world.path() +
                   "': others may write to it; run 'chmod go-w' on it, or name another directory");
  }
  BOOST_REQUIRE(::chmod(world.path().c_str(), 0755) == 0);
  BOOST_TEST(refusal_of(world.path()) == "");
}

constexpr uid_t kOtherUser = 65534;

boost::unit_test::precondition needs_root() {
  return boost::unit_test::precondition([](auto) { return ::geteuid() == 0; });
}

BOOST_AUTO_TEST_CASE(refuses_directories_of_other_users, *needs_root()) {
  ArchiveFixture world;
  const std::string link = world.path() + "-link";
  fs::create_symlink(world.path(), link);
  BOOST_TEST(refusal_of(link + "/") == "");
  BOOST_REQUIRE(::lchown(link.c_str(), kOtherUser, kOtherUser) == 0);
  BOOST_TEST(refusal_of(link).find("it is a symbolic link of user 65534") != std::string::npos);
  BOOST_TEST(refusal_of(link + "/").find("it is a symbolic link") != std::string::npos);
  BOOST_REQUIRE(::chown(world.path().c_str(), kOtherUser, kOtherUser) == 0);
  BOOST_TEST(refusal_of(world.path()).find("it belongs to user 65534") != std::string::npos);
}

// Adds a window to the archive. Returns the size of the first hour's file and its number of
// windows.
std::pair<std::uint64_t, std::size_t> add_window(ArchiveFixture& world, Archive& archive) {
  world.add_windows(archive, world.now + kMinute, kMinute);
  return {fs::file_size(world.path(kFirst)), checked(world.read_windows()).window_count};
}

BOOST_AUTO_TEST_CASE(does_not_append_to_a_file_with_a_second_link) {
  ArchiveFixture world;
  Archive archive = world.open();
  const auto first = add_window(world, archive);
  fs::create_hard_link(world.path(kFirst), world.path() + "-other");
  const auto second = add_window(world, archive);
  BOOST_TEST(second.first == first.first);
  BOOST_TEST(second.second == 2u);
}

BOOST_AUTO_TEST_CASE(does_not_append_to_a_file_of_another_user, *needs_root()) {
  ArchiveFixture world;
  Archive archive = world.open();
  const auto first = add_window(world, archive);
  BOOST_REQUIRE(::chown(world.path(kFirst).c_str(), kOtherUser, kOtherUser) == 0);
  const auto second = add_window(world, archive);
  BOOST_TEST(second.first == first.first);
  BOOST_TEST(second.second == 2u);
}

// Other users can add files to the directory, and an index with wrong information about our files.
BOOST_AUTO_TEST_CASE(ignores_files_of_others_in_a_sticky_directory, *needs_root()) {
  ArchiveFixture world;
  BOOST_REQUIRE(::chmod(world.path().c_str(), 01777) == 0);
  {
    Archive archive = world.open();
    add_window(world, archive);
    BOOST_TEST(archive.files().size() == 1u);
  }
  const std::string foreign_file = world.path(file_name_of(hour_file_at(kBegin + kHour)));
  fs::copy_file(world.path(kFirst), foreign_file);
  for (const std::string& path : {foreign_file, world.path(kIndexName)})
    BOOST_REQUIRE(::chown(path.c_str(), kOtherUser, kOtherUser) == 0);
  std::ofstream(world.path(kIndexName)) << "nonsense";
  const Archive archive = world.open();
  BOOST_REQUIRE(archive.files().size() == 1u);
  BOOST_TEST(file_name_of(archive.files()[0].name) == kFirst);
  BOOST_TEST(archive.files()[0].windows.size() == 1u);
}

// The index of another user is well formed, and moves a window to an earlier hour.
BOOST_AUTO_TEST_CASE(trusts_no_index_of_another_user, *needs_root()) {
  ArchiveFixture world;
  BOOST_REQUIRE(::chmod(world.path().c_str(), 01777) == 0);
  {
    Archive archive = world.open();
    add_window(world, archive);
  }
  const std::string index = world.path(kIndexName);
  std::vector<IndexEntry> entries = read_index(file_text(index));
  BOOST_REQUIRE_EQUAL(entries.size(), 1u);
  entries[0].window.opened_at.wall_unix_ns -= kHour;
  const auto opened_at = [&] {
    const Archive archive = world.open();
    return archive.files().at(0).windows.at(0).opened_at.wall_unix_ns;
  };
  const auto write_as = [&](uid_t user) {
    std::ofstream(index) << index_line(entries[0].file, entries[0].window);
    BOOST_REQUIRE(::chown(index.c_str(), user, user) == 0);
  };
  write_as(0);
  BOOST_TEST(opened_at() == kBegin - kHour);
  write_as(kOtherUser);
  BOOST_TEST(opened_at() == kBegin);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::archive_test

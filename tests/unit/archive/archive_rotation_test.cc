// Tests which files a directory of recordings drops, and when: by age, by size, on a full disk, and
// after changes of the clock.

#include <sys/mount.h>

#include <fstream>
#include <optional>

#include "core/archive/when.hpp"
#include "tests/unit/archive/archive_world.hpp"

namespace ctprof::tests::archive_rotation_test {
namespace {

BOOST_AUTO_TEST_SUITE(archive_rotation_test)

BOOST_AUTO_TEST_CASE(keeps_no_files_older_than_requested) {
  World world;
  constexpr std::uint64_t kLength = 20 * kMinute;
  Archive archive = world.open(kLength);
  while (world.now < kBegin + 8 * kDay) {
    BOOST_TEST(world.fill(archive, world.now + kLength, kLength).empty());
    const std::uint64_t oldest = archive.files().front().windows.front().opened.wall_unix_ns;
    BOOST_REQUIRE(oldest + 7 * kDay >= world.now);
    BOOST_REQUIRE((world.now < kBegin + 7 * kDay || oldest <= world.now - 7 * kDay + 2 * kHour));
  }
  const auto opened = Directory::open(world.path());
  BOOST_REQUIRE(opened);
  const auto files = opened->files();
  BOOST_REQUIRE(files);
  BOOST_TEST(files->size() == archive.files().size());
  BOOST_TEST(world.names().size() == files->size() + 1);
  const Spanned all = sound(world.read());
  BOOST_TEST(all.runs.size() == 1u);
  BOOST_TEST(all.windows >= 7 * 72 - 6u);
}

// The clock is wrong at boot, and NTP corrects it a minute later.
BOOST_AUTO_TEST_CASE(keeps_files_when_the_clock_is_set_far_forward) {
  World world({kDay, 1ULL << 30});
  {
    Archive archive = world.open();
    world.fill(archive, kBegin + 2 * kHour, kHour);
  }
  constexpr std::uint64_t kWrong = 90 * kSecond, kBoot = kWrong - 30 * kSecond;
  const std::uint64_t right = world.now + kHour, booted = right - kMinute;
  Archive archive = world.open();
  world.now = kWrong + 30 * kSecond;
  BOOST_TEST(archive.keep(window_of(kWrong, world.now, "c", kBoot)).empty());
  // The clock was set inside this window.
  Snapshot window = window_of(right - kSecond, right, "c", booted);
  window.window->opened.wall_unix_ns = kWrong + 30 * kSecond;
  world.now = right;
  std::vector<std::string> told = archive.keep(window);
  BOOST_REQUIRE(told.size() == 1u);
  BOOST_TEST(told[0].starts_with("the clock was set forward by 20780."), told[0]);
  BOOST_TEST(told[0].ends_with(": what was recorded before is kept as long as if it had not been"));
  BOOST_TEST(archive.files().size() == 3u);
  // A day later, the files recorded then are dropped, whatever hour their names contain, and no
  // others.
  for (std::uint64_t hour = 0; hour < 25; ++hour, world.now += kHour)
    for (std::string& sentence : archive.keep(window_of(world.now, world.now + kHour, "c", booted)))
      told.push_back(std::move(sentence));
  BOOST_TEST(told.size() == 1u);
  BOOST_TEST(!fs::exists(world.path(kFirst)));
  BOOST_TEST(!fs::exists(world.path(name_of(hour_file_at(kWrong)))));
  BOOST_TEST(archive.files().size() >= 23u);
}

// A user sets the clock years ahead by mistake, and back.
BOOST_AUTO_TEST_CASE(keeps_files_while_the_clock_is_wrong) {
  World world({kDay, 1ULL << 30});
  {
    Archive archive = world.open();
    world.fill(archive, kBegin + 2 * kHour, kHour);  // of an earlier boot
  }
  const std::uint64_t booted = kBegin + 2 * kHour;
  constexpr std::uint64_t kYears = 3650 * kDay;
  for (const bool is_restarted : {false, true}) {
    std::optional<Archive> archive(world.open());
    const std::uint64_t begun = world.now;
    BOOST_TEST(archive->keep(window_of(begun, begun + kHour, "c", booted)).empty());
    if (is_restarted) archive.reset(), archive.emplace(world.open());
    world.now = begun + 2 * kHour + kYears;
    const auto told = archive->keep(window_of(world.now - kHour, world.now, "c", booted + kYears));
    BOOST_REQUIRE(told.size() == 1u);
    BOOST_TEST(told[0].starts_with("the clock was set forward by 3650 d: "));
    world.now = begun + 3 * kHour;
    BOOST_TEST(archive->keep(window_of(world.now - kHour, world.now, "c", booted)).empty());
    BOOST_TEST(fs::exists(world.path(kFirst)));
  }
  // Two hours of the earlier boot, and six of this boot, two of which have a later name.
  BOOST_TEST(Directory::open(world.path())->files()->size() == 8u);
}

// This also happens in another user's sticky directory, and with immutable files.
BOOST_AUTO_TEST_CASE(reports_and_counts_files_that_cannot_be_dropped) {
  World world({2 * kHour, kLeastBytes});
  Archive archive = world.open();
  world.fill(archive, kBegin + 2 * kHour, kHour);
  fs::remove(world.path(kFirst));
  fs::create_directory(world.path(kFirst));  // a directory cannot be unlinked like a file
  std::vector<std::string> told = world.fill(archive, kBegin + 5 * kHour, kHour);
  BOOST_REQUIRE(told.size() == 1u);
  BOOST_TEST(told[0] == kFirst +
                            " could not be dropped: Is a directory; it stays, and counts for "
                            "--max-size");
  BOOST_TEST(name_of(archive.files().front().name) == kFirst);
  BOOST_TEST(archive.files().size() == 3u);
  fs::remove(world.path(kFirst));
  BOOST_TEST(world.fill(archive, kBegin + 6 * kHour, kHour).empty());
  BOOST_TEST(name_of(archive.files().front().name) != kFirst);
}

BOOST_AUTO_TEST_CASE(omits_a_window_rather_than_exceeding_the_size) {
  World world({7 * kDay, kLeastBytes});
  Archive archive = world.open();
  world.fill(archive, kBegin + kMinute, kMinute);
  while (bytes_with(archive.files(), archive.last_bytes() + 100) <= kLeastBytes)
    BOOST_REQUIRE(world.fill(archive, world.now + kMinute, kMinute).empty());
  const std::size_t files = archive.files().size();
  std::set<std::string> names = world.names();
  names.erase(kIndexName);
  for (const std::string& name : names) {
    fs::remove(world.path(name));
    fs::create_directory(world.path(name));
  }
  std::vector<std::string> told = world.fill(archive, world.now + 10 * kMinute, kMinute);
  BOOST_REQUIRE(told.size() == files + 1);
  BOOST_TEST(told.back().ends_with(
      "could not be written and is missing: files that cannot be deleted fill "
      "--max-size; recording continues"));
  for (const std::string& name : names) fs::remove(world.path(name));
  told = world.fill(archive, world.now + kMinute, kMinute);
  BOOST_TEST(told.back().starts_with("10 windows are missing, "));
  BOOST_TEST(archive.files().size() == files);
}

BOOST_AUTO_TEST_CASE(reports_files_dropped_for_size_before_their_age) {
  const std::uint64_t most = kLeastBytes;
  World world({7 * kDay, most});
  Archive archive = world.open();
  std::vector<std::string> told;
  while (told.empty() && world.now < kBegin + 7 * kDay) {
    for (std::string& sentence : world.fill(archive, world.now + kMinute, kMinute))
      told.push_back(sentence);
    BOOST_REQUIRE(world.bytes() <= most);
  }
  BOOST_REQUIRE(!told.empty());
  BOOST_TEST(told[0].starts_with("dropped " + kFirst + " ("));
  BOOST_TEST(told[0].ends_with("to stay within --max-size: less than 7 d is kept"));
  BOOST_TEST(!fs::exists(world.path(kFirst)));
  BOOST_TEST(world.bytes() > most / 2);
  BOOST_TEST(sound(world.read()).runs.size() == 1u);
}

BOOST_AUTO_TEST_CASE(splits_an_hour_that_is_too_large) {
  World world({7 * kDay, kLeastBytes});
  Archive archive = world.open();
  while (archive.files().size() < 2) world.fill(archive, world.now + kSecond, kSecond);
  BOOST_TEST(name_of(archive.files()[1].name) == "20261123T15Z-02.ctprof.zst");
  BOOST_TEST(sound(world.read()).runs.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_full_disk_drops_the_oldest_files_and_then_windows) {
  World world;
  if (::mount("tmpfs", world.path().c_str(), "tmpfs", 0, "size=96k") != 0) {
    BOOST_TEST_MESSAGE("skipped: a small file system cannot be mounted here");
    return;
  }
  std::vector<std::string> told;
  {
    Archive archive = world.open();
    while (world.now < kBegin + 3 * kDay)
      for (std::string& sentence : world.fill(archive, world.now + kHour / 2, kHour / 2))
        told.push_back(std::move(sentence));
    BOOST_TEST(told.size() > 10u);
    BOOST_TEST(told.front().starts_with("the disk is full: dropped " + kFirst));
    const Spanned all = sound(world.read());
    BOOST_TEST(all.runs.size() == 1u);
    BOOST_TEST(all.until_ns == world.now);
    // Another program fills the disk, and there are no old files to drop.
    for (const std::string& name : world.names()) fs::remove(world.path(name));
  }
  {
    for (bool fits = true; fits;) {
      std::ofstream greedy(world.path("lost+found"), std::ios::app);
      greedy << std::string(4096, 'x') << std::flush;
      fits = greedy.good();
    }
    Archive archive = world.open();
    told = world.fill(archive, world.now + 3 * kHour, kHour);
    BOOST_REQUIRE(told.size() == 1u);
    BOOST_TEST(told[0].ends_with(
        "could not be written and is missing: No space left on device; recording continues"));
    fs::remove(world.path("lost+found"));
    told = world.fill(archive, world.now + kHour, kHour);
    BOOST_REQUIRE(told.size() == 1u);
    BOOST_TEST(told[0].starts_with("3 windows are missing, "));
    const Spanned left = sound(world.read());
    BOOST_TEST(left.until_ns == world.now);
  }
  BOOST_TEST(::umount(world.path().c_str()) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::archive_rotation_test

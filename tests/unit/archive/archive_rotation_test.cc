// Tests which files a directory of recordings drops, and when: by age, by size, on a full disk, and
// after changes of the clock.

#include <sys/mount.h>

#include <fstream>
#include <optional>

#include "core/archive/time_text.hpp"
#include "tests/unit/archive/archive_fixture.hpp"

namespace ctprof::tests::archive_rotation_test {
namespace {

BOOST_AUTO_TEST_SUITE(archive_rotation_test)

// Each window also takes 160 bytes of the index.
BOOST_AUTO_TEST_CASE(predicts_the_size_of_a_day_and_of_all_windows) {
  const Forecast all = predict_size(840, kMinute, {7 * kDay, 1ULL << 30});
  BOOST_TEST(all.window_bytes == 840u);
  BOOST_TEST(all.day_bytes == 1440u * 1000);
  BOOST_TEST(all.total_bytes == 7u * 1440 * 1000);
  BOOST_TEST(all.available_ns == 7 * kDay);
  const Forecast half = predict_size(840, kMinute, {8 * kDay, 4 * 1440 * 1000});
  BOOST_TEST(half.total_bytes == 8u * 1440 * 1000);
  BOOST_TEST(half.available_ns == 4 * kDay);
}

BOOST_AUTO_TEST_CASE(keeps_no_files_older_than_requested) {
  ArchiveFixture world;
  constexpr std::uint64_t kLength = 20 * kMinute;
  Archive archive = world.open(kLength);
  while (world.now < kBegin + 8 * kDay) {
    BOOST_TEST(world.add_windows(archive, world.now + kLength, kLength).empty());
    const std::uint64_t oldest = archive.files().front().windows.front().opened_at.wall_unix_ns;
    BOOST_REQUIRE(oldest + 7 * kDay >= world.now);
    BOOST_REQUIRE((world.now < kBegin + 7 * kDay || oldest <= world.now - 7 * kDay + 2 * kHour));
  }
  const auto opened = Directory::open(world.path());
  BOOST_REQUIRE(opened);
  const auto files = opened->files();
  BOOST_REQUIRE(files);
  BOOST_TEST(files->size() == archive.files().size());
  BOOST_TEST(world.names().size() == files->size() + 1);
  const SpanResult all = checked(world.read_windows());
  BOOST_TEST(all.runs.size() == 1u);
  BOOST_TEST(all.window_count >= 7 * 72 - 6u);
}

// The clock is wrong at boot, and NTP corrects it a minute later.
BOOST_AUTO_TEST_CASE(keeps_files_when_the_clock_is_set_far_forward) {
  ArchiveFixture world({kDay, 1ULL << 30});
  {
    Archive archive = world.open();
    world.add_windows(archive, kBegin + 2 * kHour, kHour);
  }
  constexpr std::uint64_t kWrongTime = 90 * kSecond, kBoot = kWrongTime - 30 * kSecond;
  const std::uint64_t right = world.now + kHour, booted = right - kMinute;
  Archive archive = world.open();
  world.now = kWrongTime + 30 * kSecond;
  BOOST_TEST(archive.add(window_of(kWrongTime, world.now, "c", kBoot)).empty());
  // The clock was set inside this window.
  Snapshot window = window_of(right - kSecond, right, "c", booted);
  window.window->opened_at.wall_unix_ns = kWrongTime + 30 * kSecond;
  world.now = right;
  std::vector<std::string> messages = archive.add(window);
  BOOST_REQUIRE(messages.size() == 1u);
  BOOST_TEST(messages[0].starts_with("the clock was set forward by 20780."), messages[0]);
  BOOST_TEST(messages[0].ends_with(": the age of earlier recordings does not include this step"));
  BOOST_TEST(archive.files().size() == 3u);
  // A day later, the files recorded then are dropped, whatever hour their names contain, and no
  // others.
  for (std::uint64_t hour = 0; hour < 25; ++hour, world.now += kHour)
    for (std::string& sentence : archive.add(window_of(world.now, world.now + kHour, "c", booted)))
      messages.push_back(std::move(sentence));
  BOOST_TEST(messages.size() == 1u);
  BOOST_TEST(!fs::exists(world.path(kFirst)));
  BOOST_TEST(!fs::exists(world.path(file_name_of(hour_file_at(kWrongTime)))));
  BOOST_TEST(archive.files().size() >= 23u);
}

// A user sets the clock years ahead by mistake, and back.
BOOST_AUTO_TEST_CASE(keeps_files_while_the_clock_is_wrong) {
  ArchiveFixture world({kDay, 1ULL << 30});
  {
    Archive archive = world.open();
    world.add_windows(archive, kBegin + 2 * kHour, kHour);  // of an earlier boot
  }
  const std::uint64_t booted = kBegin + 2 * kHour;
  constexpr std::uint64_t kTenYears = 3650 * kDay;
  for (const bool is_restarted : {false, true}) {
    std::optional<Archive> archive(world.open());
    const std::uint64_t begun = world.now;
    BOOST_TEST(archive->add(window_of(begun, begun + kHour, "c", booted)).empty());
    if (is_restarted) archive.reset(), archive.emplace(world.open());
    world.now = begun + 2 * kHour + kTenYears;
    const auto messages =
        archive->add(window_of(world.now - kHour, world.now, "c", booted + kTenYears));
    BOOST_REQUIRE(messages.size() == 1u);
    BOOST_TEST(messages[0].starts_with("the clock was set forward by 3650 d: "));
    world.now = begun + 3 * kHour;
    BOOST_TEST(archive->add(window_of(world.now - kHour, world.now, "c", booted)).empty());
    BOOST_TEST(fs::exists(world.path(kFirst)));
  }
  // Two hours of the earlier boot, and six of this boot, two of which have a later name.
  BOOST_TEST(Directory::open(world.path())->files()->size() == 8u);
}

// This also happens in another user's sticky directory, and with immutable files.
BOOST_AUTO_TEST_CASE(reports_and_counts_files_that_cannot_be_dropped) {
  ArchiveFixture world({2 * kHour, kMinBytes});
  Archive archive = world.open();
  world.add_windows(archive, kBegin + 2 * kHour, kHour);
  fs::remove(world.path(kFirst));
  fs::create_directory(world.path(kFirst));  // a directory cannot be unlinked like a file
  std::vector<std::string> messages = world.add_windows(archive, kBegin + 5 * kHour, kHour);
  BOOST_REQUIRE(messages.size() == 1u);
  BOOST_TEST(
      messages[0] ==
      kFirst +
          " could not be dropped: Is a directory; the file remains, and counts toward --max-size");
  BOOST_TEST(file_name_of(archive.files().front().name) == kFirst);
  BOOST_TEST(archive.files().size() == 3u);
  fs::remove(world.path(kFirst));
  BOOST_TEST(world.add_windows(archive, kBegin + 6 * kHour, kHour).empty());
  BOOST_TEST(file_name_of(archive.files().front().name) != kFirst);
}

BOOST_AUTO_TEST_CASE(omits_a_window_rather_than_exceeding_the_size) {
  ArchiveFixture world({7 * kDay, kMinBytes});
  Archive archive = world.open();
  world.add_windows(archive, kBegin + kMinute, kMinute);
  while (bytes_with_window(archive.files(), archive.last_bytes() + 100) <= kMinBytes)
    BOOST_REQUIRE(world.add_windows(archive, world.now + kMinute, kMinute).empty());
  const std::size_t files = archive.files().size();
  std::set<std::string> names = world.names();
  names.erase(kIndexName);
  for (const std::string& name : names) {
    fs::remove(world.path(name));
    fs::create_directory(world.path(name));
  }
  std::vector<std::string> messages = world.add_windows(archive, world.now + 10 * kMinute, kMinute);
  BOOST_REQUIRE(messages.size() == files + 1);
  BOOST_TEST(
      messages.back().ends_with("could not be written and is missing: existing files that cannot "
                                "be deleted use all of --max-size; recording continues"));
  for (const std::string& name : names) fs::remove(world.path(name));
  messages = world.add_windows(archive, world.now + kMinute, kMinute);
  BOOST_TEST(messages.back().starts_with("10 windows are missing, "));
  BOOST_TEST(archive.files().size() == files);
}

BOOST_AUTO_TEST_CASE(reports_files_dropped_for_size_before_their_age) {
  const std::uint64_t most = kMinBytes;
  ArchiveFixture world({7 * kDay, most});
  Archive archive = world.open();
  std::vector<std::string> messages;
  while (messages.empty() && world.now < kBegin + 7 * kDay) {
    for (std::string& sentence : world.add_windows(archive, world.now + kMinute, kMinute))
      messages.push_back(sentence);
    BOOST_REQUIRE(world.bytes() <= most);
  }
  BOOST_REQUIRE(!messages.empty());
  BOOST_TEST(messages[0].starts_with("dropped " + kFirst + " ("));
  BOOST_TEST(messages[0].ends_with("to stay within --max-size: less than 7 d is kept"));
  BOOST_TEST(!fs::exists(world.path(kFirst)));
  BOOST_TEST(world.bytes() > most / 2);
  BOOST_TEST(checked(world.read_windows()).runs.size() == 1u);
}

BOOST_AUTO_TEST_CASE(splits_an_hour_that_is_too_large) {
  ArchiveFixture world({7 * kDay, kMinBytes});
  Archive archive = world.open();
  while (archive.files().size() < 2) world.add_windows(archive, world.now + kSecond, kSecond);
  BOOST_TEST(file_name_of(archive.files()[1].name) == "20261123T15Z-02.ctprof.zst");
  BOOST_TEST(checked(world.read_windows()).runs.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_full_disk_drops_the_oldest_files_and_then_windows) {
  ArchiveFixture world;
  if (::mount("tmpfs", world.path().c_str(), "tmpfs", 0, "size=96k") != 0) {
    BOOST_TEST_MESSAGE("skipped: a small file system cannot be mounted here");
    return;
  }
  std::vector<std::string> messages;
  {
    Archive archive = world.open();
    while (world.now < kBegin + 3 * kDay)
      for (std::string& sentence : world.add_windows(archive, world.now + kHour / 2, kHour / 2))
        messages.push_back(std::move(sentence));
    BOOST_TEST(messages.size() > 10u);
    BOOST_TEST(messages.front().starts_with("the disk is full: dropped " + kFirst));
    const SpanResult all = checked(world.read_windows());
    BOOST_TEST(all.runs.size() == 1u);
    BOOST_TEST(all.until_ns == world.now);
    // Another program fills the disk, and there are no old files to drop.
    for (const std::string& name : world.names()) fs::remove(world.path(name));
  }
  {
    for (bool has_space = true; has_space;) {
      std::ofstream disk_filler(world.path("lost+found"), std::ios::app);
      disk_filler << std::string(4096, 'x') << std::flush;
      has_space = disk_filler.good();
    }
    Archive archive = world.open();
    messages = world.add_windows(archive, world.now + 3 * kHour, kHour);
    BOOST_REQUIRE(messages.size() == 1u);
    BOOST_TEST(messages[0].ends_with(
        "could not be written and is missing: No space left on device; recording continues"));
    BOOST_TEST(archive.stored_windows() == 0u);
    fs::remove(world.path("lost+found"));
    messages = world.add_windows(archive, world.now + kHour, kHour);
    BOOST_TEST(archive.stored_windows() == 1u);
    BOOST_REQUIRE(messages.size() == 1u);
    BOOST_TEST(messages[0].starts_with("3 windows are missing, "));
    const SpanResult left = checked(world.read_windows());
    BOOST_TEST(left.until_ns == world.now);
  }
  BOOST_TEST(::umount(world.path().c_str()) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::archive_rotation_test

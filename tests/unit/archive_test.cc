// A directory of recordings: added to, dropped from, read, damaged and killed. Windows are made by
// hand, and so is the time.

#define BOOST_TEST_MODULE archive
#include "core/archive/archive.hpp"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "core/archive/hour_writer.hpp"
#include "core/archive/span.hpp"
#include "core/archive/when.hpp"
#include "core/file/file.hpp"
#include "core/window/happened.hpp"
#include "core/window/make_window.hpp"
#include "tests/unit/column_lines.hpp"
#include "tests/unit/hand_made.hpp"

namespace ctprof::tests {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSecond = 1'000'000'000, kMinute = 60 * kSecond, kHour = 60 * kMinute;
constexpr std::uint64_t kDay = 24 * kHour;
// A full hour, so that windows of a minute fill files evenly.
constexpr std::uint64_t kBegin = 1'795'446'000 * kSecond;
static_assert(kBegin % kHour == 0);

const MetricDef kFaults = hand_made::metric("minflt", "MonotonicCount", "SumCount");

// One thread, which faults once a second from the boot on.
Snapshot host_at(std::uint64_t wall, const std::string& boot, std::uint64_t booted) {
  Snapshot snapshot = hand_made::snapshot_of({{7, 7, "p", "t"}});
  hand_made::add_u64(snapshot, identity_metric(kStartTime), {5});
  hand_made::add_u64(snapshot, kFaults, {(wall - booted) / kSecond});
  snapshot.meta.tool = "0.1.0";
  snapshot.meta.boot_id = boot;
  snapshot.meta.start = snapshot.meta.end = {wall, wall - booted};
  snapshot.read_at.assign(1, 0);
  return snapshot;
}

Snapshot window_of(std::uint64_t from, std::uint64_t until, const std::string& boot = "b",
                   std::uint64_t booted = kBegin - 30 * kDay) {
  Ended nobody;
  nobody.told = true;
  auto window =
      make_window(host_at(from, boot, booted), host_at(until, boot, booted), std::move(nobody));
  BOOST_REQUIRE_MESSAGE(window, window.error().text);
  return std::move(*window);
}

// A directory, a time, and windows back to back.
class World {
 public:
  explicit World(KeepRules rules = {7 * kDay, 1ULL << 30}) : rules_(rules) {
    fs::create_directory(path());
  }

  std::string path() const { return scratch_.file(); }
  std::string path(const std::string& name) const { return path() + "/" + name; }

  Archive open(std::uint64_t ahead = 0) {
    ArchiveOptions options;
    options.rules = rules_;
    options.ahead_ns = ahead;
    options.sync = false;
    options.workers = 1;
    options.now_unix_ns = [this] { return now; };
    auto archive = Archive::open(path(), options);
    BOOST_REQUIRE_MESSAGE(archive, archive.error().text);
    return std::move(*archive);
  }

  // Windows until then, of that length each. Returns what was said.
  std::vector<std::string> fill(Archive& archive, std::uint64_t until, std::uint64_t length) {
    std::vector<std::string> told;
    for (; now + length <= until;) {
      const Snapshot window = window_of(now, now + length);
      now += length;
      for (std::string& sentence : archive.keep(window)) told.push_back(std::move(sentence));
    }
    return told;
  }

  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(path())) names.insert(entry.path().filename());
    return names;
  }

  std::uint64_t bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(path())) bytes += entry.file_size();
    return bytes;
  }

  Result<Spanned> read(Span span = {}) const { return read_span(path(), span, whole_vocabulary()); }

  std::uint64_t now = kBegin;

 private:
  ScratchDirectory scratch_;
  KeepRules rules_;
};

Spanned sound(Result<Spanned> spanned) {
  BOOST_REQUIRE_MESSAGE(spanned, spanned.error().text);
  return std::move(*spanned);
}

// Faults of the thread in the run: a second has one.
std::uint64_t seconds_in(Snapshot& run) {
  to_differences(run);
  return run.threads().find("minflt")->u64()[0];
}

const std::string kFirst = name_of(hour_file_at(kBegin));

BOOST_AUTO_TEST_CASE(names_of_files) {
  BOOST_TEST(kFirst == "20261123T15Z-01.ctprof.zst");
  BOOST_TEST((hour_file_of(kFirst) == hour_file_at(kBegin)));
  BOOST_TEST((hour_file_of("20261123T15Z-123.ctprof.zst") == HourFile{kBegin / kHour, 123}));
  for (const char* name :
       {"", "x", "20261123T15Z.ctprof.zst", "20261123T15Z-1.ctprof.zst",
        "20261123T25Z-01.ctprof.zst", "20261123T15Z-01.ctprof", "20261123T15Z-001.ctprof.zst",
        "20261123T15Z+01.ctprof.zst", "20260230T15Z-01.ctprof.zst", "20261123T15Z--1.ctprof.zst"})
    BOOST_TEST(!hour_file_of(name), name);
}

BOOST_AUTO_TEST_CASE(windows_back_to_back_are_one) {
  World world;
  Archive archive = world.open();
  BOOST_TEST(world.fill(archive, kBegin + 3 * kHour, kMinute).empty());
  BOOST_TEST((world.names() == std::set<std::string>{kFirst, name_of(hour_file_at(kBegin + kHour)),
                                                     name_of(hour_file_at(kBegin + 2 * kHour)),
                                                     kIndexName}));
  Spanned all = sound(world.read());
  BOOST_TEST(all.windows == 180u);
  BOOST_TEST(all.told.empty());
  BOOST_REQUIRE(all.runs.size() == 1u);
  BOOST_TEST(seconds_in(all.runs[0]) == 3 * 3600u);
  // Each file alone is what it is for every other verb.
  const auto runs = load_runs(world.path(kFirst), whole_vocabulary());
  BOOST_REQUIRE_MESSAGE(runs, runs.error().text);
  BOOST_TEST(runs->size() == 60u);
}

BOOST_AUTO_TEST_CASE(a_span_takes_the_windows_that_have_a_part_in_it) {
  World world;
  Archive archive = world.open();
  world.fill(archive, kBegin + kHour, kMinute);
  const auto seconds = [&](std::uint64_t since, std::uint64_t until) {
    Spanned spanned = sound(world.read({kBegin + since * kSecond, kBegin + until * kSecond}));
    BOOST_REQUIRE(spanned.runs.size() == 1u);
    BOOST_TEST(spanned.told.empty());
    return seconds_in(spanned.runs[0]);
  };
  BOOST_TEST(seconds(600, 1200) == 600u);
  BOOST_TEST(seconds(601, 1199) == 600u);
  BOOST_TEST(seconds(599, 1201) == 720u);
  BOOST_TEST(seconds(610, 620) == 60u);
  const Spanned before = sound(world.read({kBegin - kHour, kBegin + kMinute}));
  BOOST_TEST(before.windows == 1u);
  BOOST_REQUIRE(before.told.size() == 1u);
  BOOST_TEST(before.told[0] == "what is kept begins at " + local_time(kBegin));
  const auto none = world.read({kBegin - kHour, kBegin});
  BOOST_REQUIRE(!none);
  BOOST_TEST(none.error().text.find("it holds nothing of that time") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(gaps_and_boots_leave_runs) {
  World world;
  Archive archive = world.open();
  world.fill(archive, kBegin + 5 * kMinute, kMinute);
  world.now += 3 * kMinute;
  world.fill(archive, kBegin + 10 * kMinute, kMinute);
  // The wall clock was set back, and the boot is another.
  archive.keep(window_of(kBegin + 9 * kMinute, kBegin + 11 * kMinute, "c", kBegin + 8 * kMinute));
  Spanned spanned = sound(world.read());
  BOOST_REQUIRE(spanned.runs.size() == 3u);
  BOOST_TEST(seconds_in(spanned.runs[0]) == 300u);
  BOOST_TEST(seconds_in(spanned.runs[1]) == 120u);
  BOOST_TEST(seconds_in(spanned.runs[2]) == 120u);
  BOOST_REQUIRE(spanned.told.size() == 2u);
  BOOST_TEST(spanned.told[0] == "nothing is recorded from " + local_time(kBegin + 5 * kMinute) +
                                    " to " + local_time(kBegin + 8 * kMinute) + " (3 min)");
  BOOST_TEST(spanned.told[1].find("started anew") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(nothing_older_than_asked_is_kept_in_a_week_and_a_day) {
  World world;
  constexpr std::uint64_t kLength = 20 * kMinute;
  Archive archive = world.open(kLength);
  while (world.now < kBegin + 8 * kDay) {
    BOOST_TEST(world.fill(archive, world.now + kLength, kLength).empty());
    const std::uint64_t oldest = oldest_in(archive.files().front());
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

BOOST_AUTO_TEST_CASE(size_wins_and_that_is_told) {
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

BOOST_AUTO_TEST_CASE(an_hour_that_is_too_large_has_parts) {
  World world({7 * kDay, kLeastBytes});
  Archive archive = world.open();
  while (archive.files().size() < 2) world.fill(archive, world.now + kSecond, kSecond);
  BOOST_TEST(name_of(archive.files()[1].name) == "20261123T15Z-02.ctprof.zst");
  BOOST_TEST(sound(world.read()).runs.size() == 1u);
}

// At each byte at which a write can stop: what is whole is read, and it can be gone on with.
BOOST_AUTO_TEST_CASE(a_torn_end_is_left_out_and_cut_off) {
  World world;
  {
    Archive archive = world.open();
    world.fill(archive, kBegin + 3 * kMinute, kMinute);
  }
  const std::uint64_t size = fs::file_size(world.path(kFirst));
  const auto directory = Directory::open(world.path());
  const std::uint64_t two = directory->files()->front().windows[2].at;
  for (std::uint64_t cut = two + 1; cut < size; cut += 97) {
    BOOST_TEST_CONTEXT("cut at " << cut) {
      fs::resize_file(world.path(kFirst), cut);
      const Spanned left = sound(world.read());
      BOOST_TEST(left.windows == 2u);
      BOOST_REQUIRE(left.told.size() == 1u);
      BOOST_TEST(left.told[0].find("cut short") != std::string::npos);
      BOOST_TEST(load_runs(world.path(kFirst), whole_vocabulary())->size() == 2u);
      Archive archive = world.open();
      BOOST_TEST(archive.found().size() == 1u);
      archive.keep(window_of(kBegin + 2 * kMinute, kBegin + 3 * kMinute));
      const Spanned again = sound(world.read());
      BOOST_TEST(again.windows == 3u);
      BOOST_TEST(again.runs.size() == 1u);
      BOOST_TEST(again.told.empty());
      BOOST_REQUIRE(fs::file_size(world.path(kFirst)) == size);
    }
  }
}

// What a machine leaves that lost its power.
BOOST_AUTO_TEST_CASE(an_end_that_is_no_window_is_told_and_not_gone_on_with) {
  World world;
  {
    Archive archive = world.open();
    world.fill(archive, kBegin + 2 * kMinute, kMinute);
  }
  std::ofstream(world.path(kFirst), std::ios::app) << std::string(5000, '\0');
  const Spanned left = sound(world.read());
  BOOST_TEST(left.windows == 2u);
  BOOST_REQUIRE(left.told.size() == 1u);
  BOOST_TEST(left.told[0].find("is left out from byte") != std::string::npos);
  Archive archive = world.open();
  world.fill(archive, kBegin + 3 * kMinute, kMinute);
  BOOST_TEST(archive.files().size() == 2u);
  const Spanned all = sound(world.read());
  BOOST_TEST(all.windows == 3u);
  BOOST_TEST(all.runs.size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_index_that_is_lost_or_damaged_is_made_anew) {
  World world;
  {
    Archive archive = world.open();
    world.fill(archive, kBegin + 2 * kHour, 10 * kMinute);
  }
  std::ostringstream whole;
  whole << std::ifstream(world.path(kIndexName)).rdbuf();
  const std::string index = whole.str();
  std::string flipped = index, doubled = index + index,
              without_first = index.substr(index.find('\n') + 1);
  for (std::size_t at = 3; at < flipped.size(); at += 61) flipped[at] ^= 1;
  for (const std::string& damaged :
       {std::string(), std::string(3000, '\xff'), index.substr(0, index.size() / 2), flipped,
        doubled, without_first}) {
    std::ofstream(world.path(kIndexName)) << damaged;
    BOOST_TEST(sound(world.read()).windows == 12u);
    BOOST_TEST(sound(world.read()).told.empty());
    world.open();
    std::ostringstream again;
    again << std::ifstream(world.path(kIndexName)).rdbuf();
    BOOST_TEST(again.str() == index);
  }
  fs::remove(world.path(kIndexName));
  BOOST_TEST(sound(world.read()).windows == 12u);
}

BOOST_AUTO_TEST_CASE(one_recorder_at_a_time) {
  World world;
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

BOOST_AUTO_TEST_CASE(nobodys_files_are_taken_for_ours) {
  World world;
  std::ofstream(world.path("notes")) << "mine";
  const auto refused = Archive::open(world.path(), {});
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().text.find("such as 'notes'") != std::string::npos);
  fs::remove(world.path("notes"));
  fs::create_symlink("/etc/passwd", world.path(kFirst));
  Archive archive = world.open();
  world.fill(archive, kBegin + kMinute, kMinute);
  BOOST_TEST(fs::is_symlink(world.path(kFirst)));
  BOOST_TEST(sound(world.read()).windows == 1u);
}

BOOST_AUTO_TEST_CASE(a_full_disk_costs_the_oldest_files_and_then_windows) {
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
    // Somebody else takes all there is, and we have nothing to give.
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
        "could not be kept, and is missing: No space left on device; it goes on"));
    fs::remove(world.path("lost+found"));
    told = world.fill(archive, world.now + kHour, kHour);
    BOOST_REQUIRE(told.size() == 1u);
    BOOST_TEST(told[0].starts_with("3 windows are missing, "));
    const Spanned left = sound(world.read());
    BOOST_TEST(left.until_ns == world.now);
  }
  BOOST_TEST(::umount(world.path().c_str()) == 0);
}

}  // namespace
}  // namespace ctprof::tests

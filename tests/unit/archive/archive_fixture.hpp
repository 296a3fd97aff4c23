// A directory of recordings with a simulated clock and consecutive windows.

#pragma once

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/archive/archive.hpp"
#include "core/archive/span.hpp"
#include "core/window/differences.hpp"
#include "core/window/make_window.hpp"
#include "tests/unit/support/column_lines.hpp"
#include "tests/unit/support/files.hpp"
#include "tests/unit/support/test_snapshots.hpp"

namespace ctprof::tests {

namespace fs = std::filesystem;

inline constexpr std::uint64_t kSecond = 1'000'000'000, kMinute = 60 * kSecond,
                               kHour = 60 * kMinute;
inline constexpr std::uint64_t kDay = 24 * kHour;
// A full hour, so that windows of a minute fill files evenly.
inline constexpr std::uint64_t kBegin = 1'795'446'000 * kSecond;
static_assert(kBegin % kHour == 0);

inline const MetricDef kFaults = hand_made::metric("minflt", "MonotonicCount", "SumCount");

// A snapshot of one thread that has had one page fault per second since the boot.
inline Snapshot host_at(std::uint64_t wall, const std::string& boot, std::uint64_t booted) {
  Snapshot snapshot = hand_made::snapshot_of({{7, 7, "p", "t"}});
  hand_made::add_u64(snapshot, identity_metric(kStartTime), {5});
  hand_made::add_u64(snapshot, kFaults, {(wall - booted) / kSecond});
  snapshot.meta.tool = "0.1.0";
  snapshot.meta.boot_id = boot;
  snapshot.meta.start = snapshot.meta.end = {wall, wall - booted};
  snapshot.read_at.assign(1, 0);
  return snapshot;
}

inline Snapshot window_of(std::uint64_t from, std::uint64_t until, const std::string& boot = "b",
                          std::uint64_t booted = kBegin - 30 * kDay) {
  ExitedThreads no_exits;
  no_exits.has_source = true;
  auto window =
      make_window(host_at(from, boot, booted), host_at(until, boot, booted), std::move(no_exits));
  BOOST_REQUIRE_MESSAGE(window, window.error().text);
  return std::move(*window);
}

// A directory of recordings, a clock, and helpers to add windows.
class ArchiveFixture {
 public:
  explicit ArchiveFixture(RetentionRules rules = {7 * kDay, 1ULL << 30}) : rules_(rules) {
    fs::create_directory(path());
  }

  std::string path() const { return scratch_ / "file"; }
  std::string path(const std::string& name) const { return path() + "/" + name; }

  Archive open(std::uint64_t ahead = 0) {
    ArchiveOptions options;
    options.rules = rules_;
    options.time_to_next_window_ns = ahead;
    options.sync = false;
    options.workers = 1;
    options.now_unix_ns = [this] { return now; };
    auto archive = Archive::open(path(), options);
    BOOST_REQUIRE_MESSAGE(archive, archive.error().text);
    return std::move(*archive);
  }

  // Adds windows of this length until the specified time. Returns the messages.
  std::vector<std::string> add_windows(Archive& archive, std::uint64_t until,
                                       std::uint64_t length) {
    std::vector<std::string> messages;
    for (; now + length <= until;) {
      const Snapshot window = window_of(now, now + length);
      now += length;
      for (std::string& sentence : archive.add(window)) messages.push_back(std::move(sentence));
    }
    return messages;
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

  Result<SpanResult> read_windows(Span span = {}) const {
    return read_span(path(), span, shipped_vocabulary());
  }

  std::uint64_t now = kBegin;

 private:
  TemporaryDirectory scratch_;
  RetentionRules rules_;
};

inline SpanResult checked(Result<SpanResult> spanned) {
  BOOST_REQUIRE_MESSAGE(spanned, spanned.error().text);
  return std::move(*spanned);
}

// Returns the page faults of the run, which equal its length in seconds.
inline std::uint64_t seconds_in(Snapshot& run) {
  convert_to_differences(run);
  return run.threads().find("minflt")->u64()[0];
}

inline const std::string kFirst = file_name_of(hour_file_at(kBegin));

}  // namespace ctprof::tests

// Tests parsing of times, lengths and sizes as users write them.

#include "core/archive/time_text.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <ctime>
#include <string>

namespace ctprof::time_text_test {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

struct BerlinTimeZone {
  BerlinTimeZone() {
    ::setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);  // needs no time zone files
    ::tzset();
  }
};
BOOST_TEST_GLOBAL_FIXTURE(BerlinTimeZone);

// Monday, 23 November 2026, 16:30:05 in Berlin.
constexpr std::uint64_t kNow = 1'795'447'805 * kSecond + 123;

std::string parse_to_local_time(std::string_view text, std::uint64_t now = kNow) {
  const auto moment = parse_time(text, now);
  return moment ? format_local_time(*moment) : "error";
}

BOOST_AUTO_TEST_SUITE(time_text_test)

BOOST_AUTO_TEST_CASE(parses_times) {
  constexpr std::pair<const char*, const char*> kTable[]{
      {"now", "2026-11-23 16:30:05"},
      {"10 min ago", "2026-11-23 16:20:05"},
      {"10min ago", "2026-11-23 16:20:05"},
      {"-10min", "2026-11-23 16:20:05"},
      {"10 minutes ago", "2026-11-23 16:20:05"},
      {"1 hour ago", "2026-11-23 15:30:05"},
      {"1h30m ago", "2026-11-23 15:00:05"},
      {"1.5 h ago", "2026-11-23 15:00:05"},
      {"90 s ago", "2026-11-23 16:28:35"},
      {"2 days ago", "2026-11-21 16:30:05"},
      {"1 week ago", "2026-11-16 16:30:05"},
      {"15:00", "2026-11-23 15:00:00"},
      {"15:00:07", "2026-11-23 15:00:07"},
      {"today", "2026-11-23 00:00:00"},
      {"today 9:05", "2026-11-23 09:05:00"},
      {"Yesterday", "2026-11-22 00:00:00"},
      {" yesterday  15:00 ", "2026-11-22 15:00:00"},
      {"2026-11-23", "2026-11-23 00:00:00"},
      {"2026-11-23 15:00", "2026-11-23 15:00:00"},
      {"2026-11-23T15:00:30", "2026-11-23 15:00:30"},
      {"2026-11-23T14:00Z", "2026-11-23 15:00:00"},
      {"2026-07-01 12:00", "2026-07-01 12:00:00"},
      {"2026-07-01T12:00Z", "2026-07-01 14:00:00"},
      {"@1795447805", "2026-11-23 16:30:05"},
  };
  for (const auto& [text, moment] : kTable) BOOST_TEST(parse_to_local_time(text) == moment, text);
}

BOOST_AUTO_TEST_CASE(refuses_invalid_times) {
  for (const char* text : {"",
                           " ",
                           "ago",
                           "10 ago",
                           "min ago",
                           "-10 min ago",
                           "10 parsecs ago",
                           "10 min",
                           "25:00",
                           "15:60",
                           "15:00:60",
                           "15",
                           "15:",
                           ":00",
                           "15:00:",
                           "15:00x",
                           "yesterday15:00",
                           "yesterday 25:00",
                           "2026-02-30",
                           "2026-13-01",
                           "2026-11-23 ",
                           "2026-1-1",
                           "20261123",
                           "2026-11-23 15",
                           "2026-11-23Z",
                           "@",
                           "@x",
                           "@1e400",
                           "nan ago",
                           "inf s ago",
                           "1e300 days ago",
                           "999999999999 w ago",
                           "tomorrow"}) {
    // A trailing blank is accepted, so this text is valid.
    if (std::string_view(text) == "2026-11-23 ") continue;
    BOOST_TEST(parse_to_local_time(text) == "error", text);
  }
  const auto error = parse_time(std::string(5000, 'x'), kNow);
  BOOST_REQUIRE(!error);
  BOOST_TEST(error.error().text.size() < 200u);
}

// "yesterday" is the previous calendar day, even if that day has 25 hours.
BOOST_AUTO_TEST_CASE(handles_changes_of_daylight_saving_time) {
  const std::uint64_t monday = *parse_time("2026-10-26 00:30", kNow);
  BOOST_TEST(parse_to_local_time("yesterday 01:00", monday) == "2026-10-25 01:00:00");
  BOOST_TEST(parse_to_local_time("yesterday", monday) == "2026-10-25 00:00:00");
  BOOST_TEST(parse_to_local_time("1 day ago", monday) == "2026-10-25 01:30:00");
}

BOOST_AUTO_TEST_CASE(parses_lengths) {
  BOOST_TEST(parse_duration("60s") == 60 * kSecond);
  BOOST_TEST(parse_duration("60") == 60 * kSecond);
  BOOST_TEST(parse_duration("7d") == 7 * 86400 * kSecond);
  BOOST_TEST(parse_duration("1.5h") == 5400 * kSecond);
  BOOST_TEST(parse_duration("2 weeks") == 14 * 86400 * kSecond);
  BOOST_TEST(parse_duration("1h30m") == 5400 * kSecond);
  BOOST_TEST(parse_duration("500ms") == kSecond / 2);
  BOOST_TEST(parse_duration("15us") == 15'000u);
  BOOST_TEST(parse_duration("10us") == 10'000u);
  BOOST_TEST(parse_duration("10 µs") == 10'000u);
  BOOST_TEST(parse_duration("1s 5ms") == 1'005'000'000u);
  for (const char* text :
       {"", "s", "-1s", "1x", "1s2", "1,s", "1s,", "nan", "inf", "1e99", "1ms\xff"})
    BOOST_TEST(parse_duration(text) == 0u, text);
  BOOST_TEST(format_duration(60 * kSecond) == "1 min");
  BOOST_TEST(format_duration(90 * kSecond) == "1.5 min");
  BOOST_TEST(format_duration(7 * 86400 * kSecond) == "7 d");
  BOOST_TEST(format_duration(kSecond / 2) == "0.5 s");
}

BOOST_AUTO_TEST_CASE(parses_sizes) {
  BOOST_TEST(parse_size("2G") == 2ULL << 30);
  BOOST_TEST(parse_size("1.5GiB") == 3ULL << 29);
  BOOST_TEST(parse_size("500m") == 500ULL << 20);
  BOOST_TEST(parse_size("500 MB") == 500ULL << 20);
  BOOST_TEST(parse_size("4096") == 4096u);
  BOOST_TEST(parse_size("1T") == 1ULL << 40);
  for (const char* text : {"", "G", "-1G", "1X", "1GG", "1 G x", "1e30", "9999999999T"})
    BOOST_TEST(parse_size(text) == 0u, text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::time_text_test

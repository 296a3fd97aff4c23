#include "core/archive/time_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

#include "core/base/clock.hpp"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

constexpr double kMaxSeconds = 9e9;  // about three centuries, which fit into a 64-bit number of ns
constexpr std::size_t kMaxTextBytes = 64;

// A unit of time.
struct Unit {
  std::string_view words;  // names of the unit, each between commas
  double seconds;
};
constexpr std::array kUnits{Unit{",us,µs,", 1e-6},
                            Unit{",ms,", 1e-3},
                            Unit{",s,sec,secs,second,seconds,", 1},
                            Unit{",m,min,mins,minute,minutes,", 60},
                            Unit{",h,hour,hours,", 3600},
                            Unit{",d,day,days,", 86400},
                            Unit{",w,week,weeks,", 7 * 86400}};

std::string to_lower(std::string_view text) {
  std::string word(sdk::trimmed(text));
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

// Consumes a number at the start of the text; none if there is no finite number.
std::optional<double> consume_number(std::string_view& text) {
  double number = 0;
  if (text.empty() || (text[0] != '.' && (text[0] < '0' || text[0] > '9'))) return std::nullopt;
  const auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (code != std::errc{} || !std::isfinite(number)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// Returns the seconds of a unit; 0 if its name is unknown.
double seconds_per_unit(std::string_view unit) {
  const std::string listed = "," + std::string(unit) + ",";
  const auto found = std::ranges::find_if(
      kUnits, [&](const Unit& known) { return known.words.find(listed) != known.words.npos; });
  return unit.empty() || unit.find(',') != unit.npos || found == kUnits.end() ? 0 : found->seconds;
}

// Converts to ns and rounds, so that 15 µs do not become 14,999 ns.
std::uint64_t seconds_to_ns(double seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds * 1e9));
}

// Parses a duration such as "1h30m", "2 hours" or "90 s" into seconds; none if it is invalid.
std::optional<double> parse_seconds(std::string_view text) {
  double seconds = 0;
  for (text = sdk::trimmed(text); !text.empty(); text = sdk::trimmed(text)) {
    const auto number = consume_number(text);
    if (!number) return std::nullopt;
    text = sdk::trimmed(text);
    const auto letters = std::min(text.find_first_of(" \t.0123456789"), text.size());
    const double unit = seconds_per_unit(text.substr(0, letters));
    if (unit == 0) return std::nullopt;
    seconds += *number * unit;
    text.remove_prefix(letters);
  }
  return seconds <= kMaxSeconds ? std::optional(seconds) : std::nullopt;
}

std::tm to_local_time(std::time_t seconds) {
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return parts;
}

// Consumes up to `most` digits. Returns false if there is none.
bool consume_digits(std::string_view& text, std::size_t most, int& number) {
  std::size_t digits = 0;
  number = 0;
  while (digits < text.size() && digits < most && text[digits] >= '0' && text[digits] <= '9')
    number = number * 10 + (text[digits++] - '0');
  text.remove_prefix(digits);
  return digits > 0;
}

bool consume(std::string_view& text, char separator) {
  if (text.empty() || text[0] != separator) return false;
  text.remove_prefix(1);
  return true;
}

// Parses "15:00" or "15:00:30"; the text must contain nothing else.
bool parse_clock(std::string_view text, std::tm& parts) {
  parts.tm_sec = 0;
  if (!consume_digits(text, 2, parts.tm_hour) || !consume(text, ':') ||
      !consume_digits(text, 2, parts.tm_min))
    return false;
  if (consume(text, ':') && !consume_digits(text, 2, parts.tm_sec)) return false;
  return text.empty() && parts.tm_hour < 24 && parts.tm_min < 60 && parts.tm_sec < 60;
}

// Consumes a date such as "2026-11-23" at the start of the text.
bool consume_date(std::string_view& text, std::tm& parts) {
  int year = 0, month = 0, day = 0;
  if (text.size() < 10 || text[4] != '-' || !consume_digits(text, 4, year) || !consume(text, '-') ||
      !consume_digits(text, 2, month) || !consume(text, '-') || !consume_digits(text, 2, day))
    return false;
  parts.tm_year = year - 1900;
  parts.tm_mon = month - 1;
  parts.tm_mday = day;
  return true;
}

// Converts to ns since 1970; none if the day does not exist.
std::optional<std::uint64_t> to_unix_ns(std::tm parts, bool is_utc) {
  const int day = parts.tm_mday, month = parts.tm_mon;
  parts.tm_isdst = -1;
  const std::time_t seconds = is_utc ? ::timegm(&parts) : ::mktime(&parts);
  if (seconds < 0 || static_cast<double>(seconds) > kMaxSeconds || parts.tm_mday != day ||
      parts.tm_mon != month)
    return std::nullopt;
  return static_cast<std::uint64_t>(seconds) * kNsPerSecond;
}

// Returns the time `clock` on an earlier day; its midnight if `clock` is empty.
std::optional<std::uint64_t> time_on_day(std::tm day, int days_ago, std::string_view clock) {
  day.tm_mday -= days_ago;
  day.tm_hour = 12;
  day.tm_min = day.tm_sec = 0;
  day.tm_isdst = -1;
  if (::mktime(&day) < 0) return std::nullopt;
  day.tm_hour = 0;
  if (!clock.empty() && !parse_clock(clock, day)) return std::nullopt;
  return to_unix_ns(day, false);
}

// Returns the text after a word and blanks; none if the text does not begin with the word.
std::optional<std::string_view> text_after(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  const std::string_view rest = text.substr(word.size());
  if (!rest.empty() && rest[0] != ' ') return std::nullopt;
  return sdk::trimmed(rest);
}

std::optional<std::uint64_t> parse_dated_time(std::string_view text) {
  std::tm parts{};
  if (!consume_date(text, parts)) return std::nullopt;
  if (text.empty()) return to_unix_ns(parts, false);
  if (!consume(text, 't') && !consume(text, ' ')) return std::nullopt;
  const bool is_utc = text.ends_with('z');
  if (is_utc) text.remove_suffix(1);
  if (!parse_clock(sdk::trimmed(text), parts)) return std::nullopt;
  return to_unix_ns(parts, is_utc);
}

std::optional<std::uint64_t> time_before(std::string_view length, std::uint64_t now) {
  const auto seconds = parse_seconds(length);
  if (!seconds || sdk::trimmed(length).empty()) return std::nullopt;
  const std::uint64_t ns = seconds_to_ns(*seconds);
  return ns <= now ? std::optional(now - ns) : std::nullopt;
}

std::optional<std::uint64_t> parse_time_words(std::string_view text, std::uint64_t now) {
  const std::tm today = to_local_time(static_cast<std::time_t>(now / kNsPerSecond));
  if (text == "now") return now;
  if (text.starts_with('@')) {
    text.remove_prefix(1);
    const auto seconds = consume_number(text);
    if (!seconds || !text.empty() || *seconds > kMaxSeconds) return std::nullopt;
    return seconds_to_ns(*seconds);
  }
  if (text.ends_with(" ago")) return time_before(text.substr(0, text.size() - 4), now);
  if (text.starts_with('-')) return time_before(text.substr(1), now);
  if (const auto clock = text_after(text, "yesterday")) return time_on_day(today, 1, *clock);
  if (const auto clock = text_after(text, "today")) return time_on_day(today, 0, *clock);
  if (const auto date = parse_dated_time(text)) return date;
  return text.empty() ? std::nullopt : time_on_day(today, 0, text);
}

}  // namespace

Result<std::uint64_t> parse_time(std::string_view text, std::uint64_t now_unix_ns) {
  const std::string word = to_lower(text.substr(0, kMaxTextBytes + 1));
  if (word.size() <= kMaxTextBytes)
    if (const auto moment = parse_time_words(word, now_unix_ns)) return *moment;
  return Error{"'" + std::string(text.substr(0, kMaxTextBytes)) +
               "' is not a valid time; use 10 min ago, 15:00, yesterday 15:00 or 2026-11-23 15:00"};
}

std::string format_local_time(std::uint64_t unix_ns) {
  const std::tm parts = to_local_time(static_cast<std::time_t>(unix_ns / kNsPerSecond));
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return {text.data(), size};
}

std::string format_local_times(std::uint64_t from_unix_ns, std::uint64_t until_unix_ns) {
  return format_local_time(from_unix_ns) + " to " + format_local_time(until_unix_ns);
}

std::string format_duration(std::uint64_t ns) {
  constexpr std::array<std::pair<double, const char*>, 4> kLargest{
      {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}}};
  const double seconds = static_cast<double>(ns) / 1e9;
  auto unit =
      std::ranges::find_if(kLargest, [&](const auto& size) { return seconds >= size.first; });
  if (unit == kLargest.end()) --unit;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.1f", seconds / unit->first);
  std::string number = text.data();
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  return number + " " + unit->second;
}

std::uint64_t parse_duration(std::string_view text) {
  const std::string word = to_lower(text.substr(0, kMaxTextBytes));
  std::string_view rest = word;
  if (const auto number = consume_number(rest); number && rest.empty())
    return *number <= kMaxSeconds ? seconds_to_ns(*number) : 0;
  const auto seconds = parse_seconds(word);
  return seconds ? seconds_to_ns(*seconds) : 0;
}

std::uint64_t parse_size(std::string_view text) {
  const std::string word = to_lower(text.substr(0, kMaxTextBytes));
  std::string_view rest = word;
  const auto number = consume_number(rest);
  if (!number) return 0;
  rest = sdk::trimmed(rest);
  if (rest.ends_with("ib"))
    rest.remove_suffix(2);
  else if (rest.size() > 1 && rest.ends_with('b'))
    rest.remove_suffix(1);
  constexpr std::string_view kUnitsOf1024 = "kmgt";
  double bytes = *number;
  if (!rest.empty()) {
    const auto power = kUnitsOf1024.find(rest[0]);
    if (rest.size() != 1 || power == kUnitsOf1024.npos) return 0;
    for (std::size_t i = 0; i <= power; ++i) bytes *= 1024;
  }
  constexpr double kMaxBytes = 1e18;
  return bytes <= kMaxBytes ? static_cast<std::uint64_t>(bytes) : 0;
}

}  // namespace ctprof

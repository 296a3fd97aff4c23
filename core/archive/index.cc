#include "core/archive/index.hpp"

#include <zlib.h>

#include <array>
#include <cstdio>
#include <ctime>

#include "core/base/clock.hpp"
#include "core/base/text.hpp"
#include "core/file/write/destination.hpp"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kSecondsPerHour = 3600;
constexpr std::size_t kStampBytes = 12;  // 20261123T15Z
constexpr std::size_t kMaxPartDigits = 6, kMaxBootIdBytes = 64;

std::string checksum_of(std::string_view text) {
  const auto sum =
      ::crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), "%08lx", static_cast<unsigned long>(sum));
  return digits.data();
}

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto parsed = sdk::number<Number>(text);
  number = parsed ? parsed.value : 0;
  return static_cast<bool>(parsed);
}

std::optional<IndexEntry> parse_entry(std::string_view line) {
  const auto end = line.rfind('\t');
  if (end == line.npos || checksum_of(line.substr(0, end)) != line.substr(end + 1))
    return std::nullopt;
  const auto fields = split(line.substr(0, end), '\t');
  if (fields.size() != 8) return std::nullopt;
  const auto file = parse_hour_file(fields[0]);
  if (!file) return std::nullopt;
  IndexEntry entry{*file, {}};
  ArchivedWindow& window = entry.window;
  window.boot_id = fields[3];
  const bool is_valid = parse_number(fields[1], window.offset) &&
                        parse_number(fields[2], window.bytes) &&
                        parse_number(fields[4], window.opened_at.wall_unix_ns) &&
                        parse_number(fields[5], window.opened_at.boottime_ns) &&
                        parse_number(fields[6], window.ended_at.wall_unix_ns) &&
                        parse_number(fields[7], window.ended_at.boottime_ns);
  return is_valid && window.bytes > 0 ? std::optional(entry) : std::nullopt;
}

}  // namespace

HourFile hour_file_at(std::uint64_t unix_ns, unsigned part) {
  return {unix_ns / kNsPerSecond / kSecondsPerHour, part};
}

std::string file_name_of(const HourFile& file) {
  const auto seconds = static_cast<std::time_t>(file.hour * kSecondsPerHour);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 64> stamp{};
  std::array<char, 96> name{};
  std::strftime(stamp.data(), stamp.size(), "%Y%m%dT%HZ", &parts);
  std::snprintf(name.data(), name.size(), "%s-%02u", stamp.data(), file.part);
  return name.data() + std::string(kFileSuffix);
}

std::optional<HourFile> parse_hour_file(std::string_view name) {
  if (!name.ends_with(kFileSuffix)) return std::nullopt;
  const std::string_view stem = name.substr(0, name.size() - kFileSuffix.size());
  if (stem.size() < kStampBytes + 2 || stem.size() > kStampBytes + 1 + kMaxPartDigits)
    return std::nullopt;
  std::tm parts{};
  const std::string stamp(stem.substr(0, kStampBytes));
  const char* end = ::strptime(stamp.c_str(), "%Y%m%dT%HZ", &parts);
  const auto part = sdk::number<unsigned>(stem.substr(kStampBytes + 1));
  const std::time_t seconds = ::timegm(&parts);
  if (!end || *end || !part || seconds < 0) return std::nullopt;
  const HourFile file{static_cast<std::uint64_t>(seconds) / kSecondsPerHour, part.value};
  return file_name_of(file) == name ? std::optional(file) : std::nullopt;
}

std::string index_line(const HourFile& file, const ArchivedWindow& window) {
  // A boot id normally comes from the kernel, but a modified file may contain any text.
  std::string boot = window.boot_id.substr(0, kMaxBootIdBytes);
  for (char& c : boot)
    if (c == '\t' || c == '\n') c = '?';
  std::string line = file_name_of(file) + '\t' + std::to_string(window.offset) + '\t' +
                     std::to_string(window.bytes) + '\t' + boot;
  for (const std::uint64_t ns : {window.opened_at.wall_unix_ns, window.opened_at.boottime_ns,
                                 window.ended_at.wall_unix_ns, window.ended_at.boottime_ns})
    line += '\t' + std::to_string(ns);
  return line + '\t' + checksum_of(line) + '\n';
}

std::vector<IndexEntry> read_index(std::string_view text) {
  std::vector<IndexEntry> entries;
  while (!text.empty())
    if (auto entry = parse_entry(sdk::take(text, '\n'))) entries.push_back(std::move(*entry));
  return entries;
}

}  // namespace ctprof

#include "plugins/jemalloc-ptrace/mounts.hpp"

#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>

#include "ctprof/files.hpp"

namespace ctprof::jemalloc {
namespace {

bool parse_number(std::string_view text, int base, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

// Parses "fd:01" in maps, "253:1" in mountinfo; returns 0 for other text.
std::uint64_t parse_device(std::string_view text, int base) {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  if (!parse_number(sdk::take(text, ':'), base, major) || !parse_number(text, base, minor))
    return 0;
  return makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
}

bool is_printable(char byte) { return byte >= ' ' && byte <= '~'; }

std::string read_records(int proc, std::uint64_t tid, const char* name) {
  sdk::TextFile file;
  const auto text = file.read_records(proc, (std::to_string(tid) + '/' + name).c_str());
  return std::string(text ? text.value : std::string_view{});
}

}  // namespace

std::vector<FileRange> parse_file_ranges(std::string_view maps) {
  std::vector<FileRange> ranges;
  while (!maps.empty()) {
    std::string_view line = sdk::take(maps, '\n');
    std::string_view range = sdk::take(line, ' ');
    FileRange found{};
    if (!parse_number(sdk::take(range, '-'), 16, found.start) ||
        !parse_number(range, 16, found.end))
      continue;
    sdk::take(line, ' ');  // permissions
    sdk::take(line, ' ');  // offset
    found.device = parse_device(sdk::take(line, ' '), 16);
    if (found.device != 0) ranges.push_back(found);
  }
  return ranges;
}

std::uint64_t find_device(const std::vector<FileRange>& ranges, std::uint64_t address) {
  const auto found = std::ranges::find_if(
      ranges, [=](const FileRange& r) { return address >= r.start && address < r.end; });
  return found == ranges.end() ? 0 : found->device;
}

// If the device is mounted several times, the last mount is the visible one.
std::string parse_mount_point(std::string_view mountinfo, std::uint64_t device) {
  std::string mount_path;
  while (!mountinfo.empty()) {
    std::string_view line = sdk::take(mountinfo, '\n');
    sdk::take(line, ' ');  // its id
    sdk::take(line, ' ');  // its parent's id
    const bool is_searched_device = device != 0 && parse_device(sdk::take(line, ' '), 10) == device;
    sdk::take(line, ' ');  // the root of the mount
    if (is_searched_device) mount_path = sdk::take(line, ' ');
  }
  std::ranges::replace_if(
      mount_path, [](char byte) { return !is_printable(byte); }, '?');
  return mount_path;
}

std::vector<FileRange> read_file_ranges(int proc, std::uint64_t tid) {
  return parse_file_ranges(read_records(proc, tid, "maps"));
}

std::string read_mount_point(int proc, std::uint64_t tid, std::uint64_t device) {
  return parse_mount_point(read_records(proc, tid, "mountinfo"), device);
}

}  // namespace ctprof::jemalloc

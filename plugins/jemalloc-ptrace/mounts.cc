#include "plugins/jemalloc-ptrace/mounts.hpp"

#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>

#include "ctprof/files.hpp"

namespace ctprof::jemalloc {
namespace {

bool number_in(std::string_view text, int base, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

// Parses "fd:01" in maps, "253:1" in mountinfo; returns 0 for other text.
std::uint64_t device_in(std::string_view text, int base) {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  if (!number_in(sdk::take(text, ':'), base, major) || !number_in(text, base, minor)) return 0;
  return makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
}

bool is_plain(char byte) { return byte >= ' ' && byte <= '~'; }

std::string read_records(int proc, std::uint64_t tid, const char* name) {
  sdk::TextFile file;
  const auto text = file.read_records(proc, (std::to_string(tid) + '/' + name).c_str());
  return std::string(text ? text.value : std::string_view{});
}

}  // namespace

std::vector<FileRange> file_ranges(std::string_view maps) {
  std::vector<FileRange> ranges;
  while (!maps.empty()) {
    std::string_view line = sdk::take(maps, '\n');
    std::string_view range = sdk::take(line, ' ');
    FileRange found{};
    if (!number_in(sdk::take(range, '-'), 16, found.start) || !number_in(range, 16, found.end))
      continue;
    sdk::take(line, ' ');  // permissions
    sdk::take(line, ' ');  // offset
    found.device = device_in(sdk::take(line, ' '), 16);
    if (found.device != 0) ranges.push_back(found);
  }
  return ranges;
}

std::uint64_t device_at(const std::vector<FileRange>& ranges, std::uint64_t address) {
  const auto found = std::ranges::find_if(
      ranges, [=](const FileRange& r) { return address >= r.start && address < r.end; });
  return found == ranges.end() ? 0 : found->device;
}

// If the device is mounted several times, the last mount is the visible one.
std::string mount_point_in(std::string_view mountinfo, std::uint64_t device) {
  std::string place;
  while (!mountinfo.empty()) {
    std::string_view line = sdk::take(mountinfo, '\n');
    sdk::take(line, ' ');  // its id
    sdk::take(line, ' ');  // its parent's id
    const bool ours = device != 0 && device_in(sdk::take(line, ' '), 10) == device;
    sdk::take(line, ' ');  // the root of the mount
    if (ours) place = sdk::take(line, ' ');
  }
  std::ranges::replace_if(
      place, [](char byte) { return !is_plain(byte); }, '?');
  return place;
}

std::vector<FileRange> mappings_of(int proc, std::uint64_t tid) {
  return file_ranges(read_records(proc, tid, "maps"));
}

std::string mount_point(int proc, std::uint64_t tid, std::uint64_t device) {
  return mount_point_in(read_records(proc, tid, "mountinfo"), device);
}

}  // namespace ctprof::jemalloc

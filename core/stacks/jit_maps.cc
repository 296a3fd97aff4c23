// jitdump:
// https://github.com/torvalds/linux/blob/master/tools/perf/Documentation/jitdump-specification.txt

#include "core/stacks/jit_maps.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <unordered_map>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/seeded_hash.hpp"
#include "core/elf/byte_cursor.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMapChunkSize = 256 << 10;
constexpr std::uint32_t kJitMagic = 0x4a695444;
constexpr std::size_t kJitHeader = 40, kJitEntryHeader = 16;
// The part of an entry that is read: its numbers and its name, but not the code after them.
constexpr std::size_t kMaxEntryBytesRead = 1024, kMaxJitNameSize = 512;
constexpr std::size_t kMaxStoredNames = 1 << 18;
enum JitEntryKind : std::uint32_t { kJitLoad = 0, kJitMove = 1 };

std::uint64_t get_file_length(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && status.st_size > 0
             ? static_cast<std::uint64_t>(status.st_size)
             : 0;
}

// Reads up to `size` bytes at an offset; fewer at the end of the file.
std::string read_chunk(int fd, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t bytes_read =
        ::pread(fd, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (bytes_read < 0 && errno == EINTR) continue;
    if (bytes_read <= 0) break;
    done += static_cast<std::size_t>(bytes_read);
  }
  bytes.resize(done);
  return bytes;
}

// Removes the beginning of a text, so that at most `max_bytes` of complete lines remain.
void keep_newest(JitMap& map, std::size_t max_bytes) {
  if (map.text.size() <= max_bytes) return;
  map.is_truncated = true;
  map.text.erase(0, map.text.size() - max_bytes);
  const std::size_t end = map.text.find('\n');
  map.text.erase(0, end == map.text.npos ? end : end + 1);
}

std::string format_hexadecimal(std::uint64_t value) {
  std::array<char, 16> digits;
  const char* end = std::to_chars(digits.begin(), digits.end(), value, 16).ptr;
  return {digits.cbegin(), end};
}

class JitDump {
 public:
  JitDump(int fd, std::size_t max_bytes) : fd_(fd), max_bytes_(max_bytes) {}

  JitMap read() {
    const std::uint64_t end = get_file_length(fd_);
    ByteCursor header(header_bytes_ = read_chunk(fd_, 0, kJitHeader));
    const auto magic = header.get<std::uint32_t>();
    header.skip(4);
    std::uint64_t at = header.get<std::uint32_t>();
    if (!header.ok() || magic != kJitMagic || at < kJitHeader) return {};
    for (std::size_t entries = 0; at + kJitEntryHeader <= end; ++entries) {
      if (entries == JitMap::kMaxEntries) {
        map_.is_truncated = true;
        break;
      }
      const std::string bytes = read_chunk(fd_, at, kMaxEntryBytesRead);
      ByteCursor cursor(bytes);
      const auto kind = cursor.get<std::uint32_t>();
      const auto size = cursor.get<std::uint32_t>();
      cursor.skip(8);  // time
      if (!cursor.ok() || size < kJitEntryHeader || size > end - at) break;
      if (kind == kJitLoad) add_loaded(bytes.substr(0, std::min<std::size_t>(bytes.size(), size)));
      if (kind == kJitMove) add_moved(cursor);
      at += size;
    }
    keep_newest(map_, max_bytes_);
    return std::move(map_);
  }

 private:
  void add_loaded(const std::string& entry) {
    ByteCursor cursor(entry, kJitEntryHeader + 16);  // process, thread, address in the dump
    const auto start = cursor.get<std::uint64_t>();
    const auto size = cursor.get<std::uint64_t>();
    const auto index = cursor.get<std::uint64_t>();
    if (!cursor.ok()) return;
    std::string name = entry.substr(cursor.position(), kMaxJitNameSize);
    name.resize(std::min(name.size(), name.find('\0')));
    std::ranges::replace(name, '\n', ' ');
    append_line(start, size, name);
    if (names_.size() < kMaxStoredNames) names_.insert_or_assign(index, std::move(name));
  }

  void add_moved(ByteCursor& cursor) {
    cursor.skip(16 + 8);  // process, thread, address in the dump, old address
    const auto start = cursor.get<std::uint64_t>();
    const auto size = cursor.get<std::uint64_t>();
    const auto index = cursor.get<std::uint64_t>();
    const auto name = names_.find(index);
    if (cursor.ok() && name != names_.end()) append_line(start, size, name->second);
  }

  void append_line(std::uint64_t start, std::uint64_t size, const std::string& name) {
    if (name.empty()) return;
    map_.text += format_hexadecimal(start) + ' ' + format_hexadecimal(size) + ' ' + name + '\n';
    if (map_.text.size() > 2 * max_bytes_ + kMapChunkSize) keep_newest(map_, max_bytes_);
  }

  int fd_;
  std::size_t max_bytes_;
  std::string header_bytes_;
  JitMap map_;
  std::unordered_map<std::uint64_t, std::string, SeededHash> names_;  // by index
};

}  // namespace

JitMap read_perf_map(int fd, std::size_t max_bytes) {
  const std::uint64_t size = get_file_length(fd);
  const std::uint64_t start = size > max_bytes ? size - max_bytes : 0;
  JitMap map;
  // The file may still grow: only the bytes up to its initial size are read.
  for (std::uint64_t at = start; at < size;) {
    const std::string chunk = read_chunk(fd, at, std::min<std::uint64_t>(kMapChunkSize, size - at));
    if (chunk.empty()) break;
    map.text += chunk;
    at += chunk.size();
  }
  if (start == 0) return map;
  map.is_truncated = true;
  const std::size_t end = map.text.find('\n');
  map.text.erase(0, end == map.text.npos ? end : end + 1);
  return map;
}

JitMap read_jit_dump(int fd, std::size_t max_bytes) { return JitDump(fd, max_bytes).read(); }

sdk::Fd open_perf_map_of_exited(std::uint64_t process, std::uint64_t alive_unix_ns,
                                const std::string& directory) {
  const std::string path = directory + "/perf-" + std::to_string(process) + ".map";
  // Does not block on a pipe.
  sdk::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK));
  struct statx status {};
  if (!fd || ::statx(fd.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &status) != 0)
    return sdk::Fd();
  const bool is_own =
      S_ISREG(status.stx_mode) && status.stx_uid == ::geteuid() && status.stx_nlink == 1;
  // If the file system has no birth time, use the modification time, which is not earlier.
  const auto& created = (status.stx_mask & STATX_BTIME) != 0 ? status.stx_btime : status.stx_mtime;
  const bool existed_then = created.tv_sec >= 0 && to_ns(created) <= alive_unix_ns;
  return is_own && existed_then ? std::move(fd) : sdk::Fd();
}

std::optional<std::uint64_t> parse_jit_dump_process(std::string_view path) {
  constexpr std::string_view kStart = "jit-", kEnd = ".dump";
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with(kStart) || !name.ends_with(kEnd)) return std::nullopt;
  name =
      name.substr(kStart.size(), name.size() - std::min(name.size(), kStart.size() + kEnd.size()));
  std::uint64_t process = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
  const bool is_whole = error == std::errc{} && end == name.data() + name.size();
  return is_whole ? std::optional(process) : std::nullopt;
}

}  // namespace ctprof

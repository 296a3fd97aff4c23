#include "plugins/jemalloc-ptrace/finder/mappings.hpp"

#include <dirent.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>

#include "ctprof/files.hpp"

namespace ctprof::jemalloc {

namespace {

// A process has about a hundred; a hostile one as many as it may have mappings.
constexpr std::size_t kMaxFiles = 4096;

constexpr std::string_view kDeleted = " (deleted)";
constexpr std::string_view kNewline = "\\012";

struct MapsLine {
  Mapping mapping;
  std::string_view path;
  bool is_code = false;
};

bool parse_number(std::string_view text, int base, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

bool parse_range(std::string_view text, Mapping& mapping) {
  return parse_number(sdk::take(text, '-'), 16, mapping.start) &&
         parse_number(text, 16, mapping.end) && mapping.start < mapping.end;
}

bool parse_file(std::string_view device, std::string_view inode, FileId& file) {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  if (!parse_number(sdk::take(device, ':'), 16, major) || !parse_number(device, 16, minor))
    return false;
  file.device = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
  return parse_number(inode, 10, file.inode);
}

std::optional<MapsLine> parse_line(std::string_view text) {
  MapsLine line;
  const std::string_view range = sdk::take(text, ' ');
  const std::string_view permissions = sdk::take(text, ' ');
  const std::string_view offset = sdk::take(text, ' ');
  const std::string_view device = sdk::take(text, ' ');
  const std::string_view inode = sdk::take(text, ' ');
  line.is_code = permissions.size() == 4 && permissions[2] == 'x';
  const auto path = text.find_first_not_of(' ');
  if (path != text.npos) line.path = text.substr(path);
  const bool is_valid = parse_range(range, line.mapping) &&
                        parse_number(offset, 16, line.mapping.offset) &&
                        parse_file(device, inode, line.mapping.file);
  return is_valid ? std::optional(line) : std::nullopt;
}

std::string unescape_newlines(std::string_view path) {
  std::string plain(path);
  for (auto at = plain.find(kNewline); at != plain.npos; at = plain.find(kNewline, at + 1))
    plain.replace(at, kNewline.size(), "\n");
  return plain;
}

// Formats the range without leading zeroes, which maps has and map_files does not.
std::string format_range(const Mapping& mapping) {
  std::array<char, 2 * 16 + 2> text;
  const int size = std::snprintf(text.data(), text.size(), "%llx-%llx",
                                 static_cast<unsigned long long>(mapping.start),
                                 static_cast<unsigned long long>(mapping.end));
  return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace

void CodeFiles::add(const Mapping& mapping, bool is_code, std::string_view path) {
  if (mapping.file != run_start_.file) run_start_ = mapping;
  if (!is_code || files_.size() >= kMaxFiles) return;
  if (std::any_of(files_.begin(), files_.end(),
                  [&](const MappedFile& known) { return known.file == mapping.file; }))
    return;
  const bool is_deleted = path.ends_with(kDeleted);
  if (is_deleted) path.remove_suffix(kDeleted.size());
  files_.push_back(
      {mapping.file, std::string(path), is_deleted, format_range(mapping), run_start_});
}

std::vector<MappedFile> parse_code_files(std::string_view maps) {
  CodeFiles files;
  while (!maps.empty()) {
    const auto line = parse_line(sdk::take(maps, '\n'));
    if (line && line->mapping.file.inode != 0)
      files.add(line->mapping, line->is_code, line->is_code ? unescape_newlines(line->path) : "");
  }
  return files.take_files();
}

// Reads in a loop, because the kernel returns the text in pages that end with a complete line.
// sdk::TextFile would treat such an end as the end of the file.
int read_code_files(int maps, sdk::Fd map_files, std::vector<MappedFile>& files) {
  if (map_files && query_code_files(maps, std::move(map_files), files) == 0) return 0;
  if (const int error = query_code_files(maps, files); error != ENOTTY) return error;
  constexpr std::size_t kPiece = 16384;
  std::string text;
  for (;;) {
    const std::size_t size = text.size();
    text.resize(size + kPiece);
    const ssize_t size_read = ::read(maps, text.data() + size, kPiece);
    text.resize(size + static_cast<std::size_t>(size_read > 0 ? size_read : 0));
    if (size_read < 0 && errno != EINTR) return errno;
    if (size_read == 0) break;
  }
  files = parse_code_files(text);
  return text.empty() ? ESRCH : 0;
}

namespace {

// From the kernel's include/uapi/linux/fs.h, which older headers lack.
struct Query {
  std::uint64_t size;
  std::uint64_t flags;
  std::uint64_t address;
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t permissions;
  std::uint64_t page_size;
  std::uint64_t offset;
  std::uint64_t inode;
  std::uint32_t major;
  std::uint32_t minor;
  std::uint32_t name_size;
  std::uint32_t build_id_size;
  std::uint64_t name;
  std::uint64_t build_id;
};
static_assert(sizeof(Query) == 104);
constexpr unsigned long kQuery = _IOWR('f', 17, Query);
constexpr std::uint64_t kExecutable = 0x04;
constexpr std::uint64_t kCoveringOrNext = 0x10;
constexpr std::uint64_t kFileBacked = 0x20;

Mapping make_mapping(const Query& answer) {
  return {
      answer.start, answer.end, answer.offset, {makedev(answer.major, answer.minor), answer.inode}};
}

Query make_query(std::uint64_t flags, std::uint64_t address) {
  Query query{};
  query.size = sizeof query;
  query.flags = flags;
  query.address = address;
  return query;
}

// Collects answers with names.
class QueryResults {
 public:
  explicit QueryResults(int maps) : maps_(maps) {}

  // Returns false, and sets errno, without an answer.
  bool query(std::uint64_t flags, std::uint64_t address) {
    Query query = make_query(flags, address);
    query.name = reinterpret_cast<std::uintptr_t>(name_.data());
    query.name_size = name_.size();
    if (::ioctl(maps_, kQuery, &query) != 0) return false;
    files_.add(make_mapping(query), (query.permissions & kExecutable) != 0, name_.data());
    end_ = query.end;
    return true;
  }
  std::uint64_t last_end() const { return end_; }
  std::vector<MappedFile> take() { return files_.take_files(); }

 private:
  int maps_;
  std::array<char, PATH_MAX> name_;
  CodeFiles files_;
  std::uint64_t end_ = 0;  // of the last mapping
};

// Returns the start of a mapping, from its name in map_files.
std::uint64_t parse_start(std::string_view range) {
  std::uint64_t start = 0;
  std::from_chars(range.data(), range.data() + range.size(), start, 16);
  return start;
}

}  // namespace

int check_memory_exists(int maps) {
  Query query = make_query(kCoveringOrNext, 0);
  return ::ioctl(maps, kQuery, &query) == 0 || errno == ENOENT ? 0 : errno;
}

int for_each_code_mapping(int maps, const std::function<bool(const FileId&)>& take) {
  for (std::uint64_t at = 0;;) {
    Query query = make_query(kCoveringOrNext | kFileBacked | kExecutable, at);
    if (::ioctl(maps, kQuery, &query) != 0) return errno == ENOENT ? 0 : errno;
    if (!take(make_mapping(query).file)) return 0;
    at = query.end;
  }
}

int query_code_files(int maps, std::vector<MappedFile>& files) {
  QueryResults results(maps);
  while (results.query(kCoveringOrNext | kFileBacked, results.last_end())) continue;
  const int error = errno;
  files = results.take();
  if (error == ENAMETOOLONG) return ENOTTY;
  return error == ENOENT ? 0 : error;
}

int query_code_files(int maps, sdk::Fd map_files, std::vector<MappedFile>& files) {
  const std::unique_ptr<DIR, int (*)(DIR*)> names(::fdopendir(map_files.get()), &::closedir);
  if (!names) return ENOTTY;
  map_files.release();
  QueryResults results(maps);
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(names.get());
    if (!entry && errno != 0) return ENOTTY;
    if (!entry) break;
    if (entry->d_name[0] != '.' && !results.query(kFileBacked, parse_start(entry->d_name)) &&
        errno != ENOENT)
      return ENOTTY;
  }
  files = results.take();
  return files.empty() ? ENOTTY : 0;
}

}  // namespace ctprof::jemalloc

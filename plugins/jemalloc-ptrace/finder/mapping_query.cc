#include "plugins/jemalloc-ptrace/finder/mapping_query.hpp"

#include <dirent.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdint>
#include <memory>
#include <string_view>

namespace ctprof::jemalloc {
namespace {

// From the kernel's include/uapi/linux/fs.h, which older headers lack.
struct Query {
  std::uint64_t size;
  std::uint64_t flags;
  std::uint64_t address;
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t rights;
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
constexpr std::uint64_t kThisOrNext = 0x10;
constexpr std::uint64_t kOfFile = 0x20;

Mapping mapping_of(const Query& answer) {
  return {
      answer.start, answer.end, answer.offset, {makedev(answer.major, answer.minor), answer.inode}};
}

Query question(std::uint64_t flags, std::uint64_t address) {
  Query query{};
  query.size = sizeof query;
  query.flags = flags;
  query.address = address;
  return query;
}

// Collects answers, with names.
class Asking {
 public:
  explicit Asking(int maps) : maps_(maps) {}

  // False, and errno, without an answer.
  bool ask(std::uint64_t flags, std::uint64_t address) {
    Query query = question(flags, address);
    query.name = reinterpret_cast<std::uintptr_t>(name_.data());
    query.name_size = name_.size();
    if (::ioctl(maps_, kQuery, &query) != 0) return false;
    found_.add(mapping_of(query), (query.rights & kExecutable) != 0, name_.data());
    end_ = query.end;
    return true;
  }
  std::uint64_t end() const { return end_; }
  std::vector<MappedFile> take() { return found_.take(); }

 private:
  int maps_;
  std::array<char, PATH_MAX> name_;
  CodeFiles found_;
  std::uint64_t end_ = 0;  // of the last mapping
};

// Where a file that is mapped begins, by its name in map_files.
std::uint64_t start_of(std::string_view range) {
  std::uint64_t start = 0;
  std::from_chars(range.data(), range.data() + range.size(), start, 16);
  return start;
}

}  // namespace

int query_any(int maps) {
  Query query = question(kThisOrNext, 0);
  return ::ioctl(maps, kQuery, &query) == 0 || errno == ENOENT ? 0 : errno;
}

int query_code_files(int maps, std::vector<MappedFile>& files) {
  Asking asking(maps);
  while (asking.ask(kThisOrNext | kOfFile, asking.end())) continue;
  const int error = errno;
  files = asking.take();
  if (error == ENAMETOOLONG) return ENOTTY;
  return error == ENOENT ? 0 : error;
}

int query_code_files(int maps, sdk::Fd map_files, std::vector<MappedFile>& files) {
  const std::unique_ptr<DIR, int (*)(DIR*)> names(::fdopendir(map_files.get()), &::closedir);
  if (!names) return ENOTTY;
  map_files.release();
  Asking asking(maps);
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(names.get());
    if (!entry && errno != 0) return ENOTTY;
    if (!entry) break;
    if (entry->d_name[0] != '.' && !asking.ask(kOfFile, start_of(entry->d_name)) && errno != ENOENT)
      return ENOTTY;
  }
  files = asking.take();
  return files.empty() ? ENOTTY : 0;
}

}  // namespace ctprof::jemalloc

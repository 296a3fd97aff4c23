#include "core/file/read/file_bytes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/file/layout/limits.hpp"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kMagic = "\x28\xb5\x2f\xfd";  // begins a zstd frame
// Begins a skippable frame, after a byte of any value.
constexpr std::string_view kSkippable = "\x2a\x4d\x18";
constexpr std::size_t kBytesPerRead = 1024 * 1024;
// For a file up to this size, all memory is reserved in one step; pages are only used as they are
// filled.
constexpr std::size_t kMaxReservedBytes = 32 * 1024 * 1024;

bool is_zstd(std::string_view bytes) {
  return bytes.starts_with(kMagic) || (bytes.size() > 1 && bytes.substr(1).starts_with(kSkippable));
}

std::string too_large() { return "larger than " + std::to_string(limits::kFileBytes) + " bytes"; }

// Returns the number of bytes to read. For a regular file this is its size when it is opened, even
// if another process appends to it. For any other file the size is unknown.
std::size_t max_bytes_to_read(int file) {
  struct stat status {};
  const bool has_size =
      ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  return has_size ? static_cast<std::size_t>(status.st_size) : limits::kFileBytes + 1;
}

// Appends the data of one read(). Returns false at the end.
Result<bool> read_more(const sdk::Fd& file, const std::string& path, std::size_t most,
                       std::string& bytes) {
  const std::size_t size = bytes.size();
  if (size == most) return false;
  bytes.resize(std::min(most, size + kBytesPerRead));
  ssize_t count = 0;
  do count = ::read(file.get(), bytes.data() + size, bytes.size() - size);
  while (count < 0 && errno == EINTR);
  bytes.resize(size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  if (count < 0) return errno_error("reading", path, errno);
  return count > 0;
}

Result<void> read_bytes(const sdk::Fd& file, const std::string& path, std::string& bytes) {
  const std::size_t most = max_bytes_to_read(file.get());
  bytes.reserve(std::min(most, kMaxReservedBytes));
  for (bool is_checked = false;;) {
    CTPROF_TRY_VALUE(const auto more, read_more(file, path, most, bytes));
    if (bytes.size() > limits::kFileBytes || (most > limits::kFileBytes + 1))
      return error("reading", path, too_large());
    if (!is_checked && (bytes.size() >= kMagic.size() || !more)) {
      if (const std::string why = find_format_error(bytes); !why.empty())
        return error("reading", path, why);
      is_checked = true;
    }
    if (!more) return {};
  }
}

}  // namespace

std::string find_format_error(std::string_view bytes) {
  if (bytes.empty()) return "the file is empty";
  return is_zstd(bytes) ? ""
                        : "it is not a ctprof file, because it does not begin with a zstd header";
}

Result<void> read_bytes(const std::string& path, std::string& bytes) {
  const sdk::Fd file(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return errno_error("reading", path, errno);
  return read_bytes(file, path, bytes);
}

// O_NONBLOCK and O_NOCTTY make the open safe if a pipe or device has replaced the file: it does not
// block, and does not acquire a terminal.
Result<void> read_regular_bytes(const std::string& path, std::string& bytes) {
  const sdk::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return errno_error("reading", path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return errno_error("reading", path, errno);
  if (!S_ISREG(status.st_mode)) return error("reading", path, "it is not a regular file");
  return read_bytes(file, path, bytes);
}

}  // namespace ctprof

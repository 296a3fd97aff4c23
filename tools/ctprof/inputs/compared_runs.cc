#include "tools/ctprof/inputs/compared_runs.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/own_files.hpp"
#include "ctprof/files.hpp"

namespace ctprof::cli {
namespace {

namespace fs = std::filesystem;

// "HASH HASH\n": hashes of the runs and of --about.
constexpr std::size_t kHashDigits = 16, kLineBytes = 2 * kHashDigits + 2;
// If a file has more lines, the older half is removed.
constexpr std::size_t kMaxLines = 4096;
constexpr const char* kStateFileName = "compared";

// FNV-1a: the same on every host and in every version.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

std::string hash_text(std::uint64_t number) {
  std::array<char, kHashDigits + 1> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

// Whether only this user and root can change the contents of the directory.
bool is_own_directory(const fs::path& path) {
  const sdk::Fd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return directory && directory_ownership_problem(path, directory.get()).empty();
}

// Returns an empty path if there is none, or if HOME belongs to another user, for example under
// sudo.
fs::path state_directory() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && *state == '/') return fs::path(state) / "ctprof";
  const char* home = std::getenv("HOME");
  if (!home || *home != '/' || !is_own_directory(home)) return {};
  return fs::path(home) / ".local/state/ctprof";
}

// Creates missing directories below a directory of this user.
sdk::Fd open_state_directory() {
  const fs::path path = state_directory();
  if (path.empty()) return sdk::Fd();
  std::error_code failed;
  fs::path existing = path;
  while (!fs::exists(existing, failed) && existing.has_relative_path())
    existing = existing.parent_path();
  if (!is_own_directory(existing)) return sdk::Fd();
  fs::create_directories(path, failed);
  if (!is_own_directory(path)) return sdk::Fd();
  return sdk::Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Opens the file of this user and locks it against concurrent comparisons. Returns an invalid
// descriptor if that is not possible.
sdk::Fd open_state_file() {
  const sdk::Fd directory = open_state_directory();
  if (!directory) return sdk::Fd();
  constexpr int kFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  sdk::Fd file(::openat(directory.get(), kStateFileName, kFlags, S_IRUSR | S_IWUSR));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !is_own_file(status)) return sdk::Fd();
  return ::flock(file.get(), LOCK_EX) == 0 ? std::move(file) : sdk::Fd();
}

// Returns whole lines; for an oversized file, the first ones.
std::string read_lines(int file) {
  std::string text(2 * kMaxLines * kLineBytes, '\0');
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) / kLineBytes * kLineBytes : 0);
  return text;
}

// Writes the lines and the new one. Omits the older half if there are too many.
void write_lines(int file, std::string_view lines, const std::string& added) {
  const std::size_t count = lines.size() / kLineBytes;
  const std::size_t left_out = count < kMaxLines ? 0 : count / 2 * kLineBytes;
  const std::string text = std::string(lines.substr(left_out)) + added;
  const ssize_t written = ::pwrite(file, text.data(), text.size(), 0);
  if (written > 0) ::ftruncate(file, static_cast<off_t>(written));
}

}  // namespace

bool record_comparison(std::string_view runs, std::string_view about) {
  const sdk::Fd file = open_state_file();
  if (!file) return false;
  const std::string runs_prefix = hash_text(hash_of(runs)) + " ",
                    line = runs_prefix + hash_text(hash_of(about)) + "\n";
  const std::string lines = read_lines(file.get());
  bool is_known = false, has_other_about = false;
  for (std::string_view rest = lines; !rest.empty(); rest.remove_prefix(kLineBytes)) {
    const std::string_view known_line = rest.substr(0, kLineBytes);
    is_known = is_known || known_line == line;
    has_other_about =
        has_other_about || (known_line.starts_with(runs_prefix) && known_line != line);
  }
  if (!is_known) write_lines(file.get(), lines, line);
  return has_other_about;
}

}  // namespace ctprof::cli

#include "tools/ctprof/compared_runs.hpp"

#include <sys/stat.h>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

namespace ctprof::cli {
namespace {

// A file with more lines loses the older half.
constexpr std::size_t kMostLines = 4096;
constexpr std::string_view kInState = "/ctprof/compared";
constexpr mode_t kOwnerOnly = 0077;

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
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

// Empty: there is no home directory.
std::string state_file() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && *state == '/') return state + std::string(kInState);
  const char* home = std::getenv("HOME");
  return home && *home == '/' ? home + ("/.local/state" + std::string(kInState)) : "";
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; lines.size() < 2 * kMostLines && std::getline(in, line);)
    lines.push_back(std::move(line));
  return lines;
}

void remember(const std::string& path, const std::vector<std::string>& lines,
              const std::string& line) {
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  const mode_t before = ::umask(kOwnerOnly);
  if (lines.size() < kMostLines) {
    std::ofstream(path, std::ios::app) << line + "\n";
  } else {
    std::ofstream out(path, std::ios::trunc);
    for (std::size_t at = lines.size() / 2; at < lines.size(); ++at) out << lines[at] + "\n";
    out << line + "\n";
  }
  ::umask(before);
}

}  // namespace

bool were_compared(std::string_view runs, std::string_view about) {
  const std::string path = state_file();
  if (path.empty()) return false;
  const std::string of_runs = hash_text(hash_of(runs)) + " ",
                    line = of_runs + hash_text(hash_of(about));
  const std::vector<std::string> lines = lines_of(path);
  bool is_known = false, was_other = false;
  for (const std::string& one : lines) {
    is_known = is_known || one == line;
    was_other = was_other || (one.starts_with(of_runs) && one != line);
  }
  if (!is_known) remember(path, lines, line);
  return was_other;
}

}  // namespace ctprof::cli

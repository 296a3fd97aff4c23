#include "plugins/shared/kernel.hpp"

#include <sys/utsname.h>
#include <zlib.h>
#include <algorithm>
#include <cerrno>
#include <memory>

#include "ctprof/files.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kLineBytes = 4096;

sdk::Fd opened(const sdk::Host& host, KernelConfig which) {
  sdk::Fd file(::openat(host.proc(), "config.gz", O_RDONLY | O_CLOEXEC));
  utsname name;
  if (file || which == KernelConfig::InProc || !host.live() || ::uname(&name) != 0) return file;
  return sdk::Fd(
      ::open((std::string("/boot/config-") + name.release).c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

// zlib passes text that is not compressed through. An option is named in one line: all that stands
// behind it need not be unpacked.
std::optional<bool> is_built_with(const sdk::Host& host, const std::string& option,
                                  KernelConfig which) {
  sdk::Fd file = opened(host, which);
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> config(
      file ? ::gzdopen(file.get(), "r") : nullptr, &::gzclose);
  if (!config) return {};
  file.release();
  const std::string is_set = option + "=y", is_not_set = "# " + option + " is not set";
  std::array<char, kLineBytes> line;
  while (::gzgets(config.get(), line.data(), line.size())) {
    const std::string_view text = sdk::trimmed(line.data());
    if (text == is_set) return true;
    if (text == is_not_set) return false;
  }
  return false;
}

std::vector<std::string> command_line(const sdk::Host& host) {
  sdk::TextFile file;
  const auto text = file.read(host.proc(), "cmdline");
  std::vector<std::string> words;
  for (std::string_view rest = text ? sdk::trimmed(text.value) : std::string_view{}; !rest.empty();)
    words.emplace_back(sdk::take(rest, ' '));
  return words;
}

bool is_on_command_line(const sdk::Host& host, std::string_view wanted) {
  const auto words = command_line(host);
  return std::find(words.begin(), words.end(), wanted) != words.end();
}

bool is_known_to_lack(const sdk::Host& host, std::string_view wanted) {
  const auto words = command_line(host);
  return !words.empty() && std::find(words.begin(), words.end(), wanted) == words.end();
}

std::vector<std::string> boot_options(const sdk::Host& host, std::string_view option) {
  std::vector<std::string> found;
  for (const std::string& word : command_line(host))
    if (word.starts_with(option)) found.push_back(word.substr(option.size()));
  return found;
}

std::string boot_option(const sdk::Host& host, std::string_view option) {
  const auto found = boot_options(host, option);
  return found.empty() ? std::string() : found.back();
}

Switch state_of(const sdk::Host& host, const char* path) {
  sdk::TextFile file;
  if (const auto text = file.read(host.proc(), path))
    return sdk::trimmed(text.value) == "0" ? Switch::Off : Switch::On;
  const bool has_others =
      file.last_errno() == ENOENT && ::faccessat(host.proc(), "sys/kernel", F_OK, 0) == 0;
  return has_others ? Switch::Absent : Switch::Unknown;
}

std::string unknown_switch(std::string_view name) {
  return "whether " + std::string(name) +
         " is on cannot be told: /proc/sys cannot be read here, as where /proc is mounted with "
         "subset=pid";
}

}  // namespace ctprof

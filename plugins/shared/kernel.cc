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
constexpr const char* kConfiguration = "config.gz";
// The kernel's default, used if the setting cannot be read.
constexpr std::uint32_t kDefaultDepth = 127;

sdk::Fd open_configuration(const sdk::Host& host) {
  sdk::Fd file(::openat(host.proc(), kConfiguration, O_RDONLY | O_CLOEXEC));
  utsname name;
  if (file || !host.live() || ::uname(&name) != 0) return file;
  return sdk::Fd(
      ::open((std::string("/boot/config-") + name.release).c_str(), O_RDONLY | O_CLOEXEC));
}

struct OptionLine {
  std::string_view option;  // empty: the line does not set an option to y or n
  bool is_set = false;
};

// Parses "CONFIG_PSI=y" and "# CONFIG_PSI is not set".
OptionLine parse_option_line(std::string_view line) {
  constexpr std::string_view kSet = "=y", kComment = "# ", kNotSet = " is not set";
  if (line.ends_with(kSet)) return {line.substr(0, line.size() - kSet.size()), true};
  if (!line.starts_with(kComment) || !line.ends_with(kNotSet)) return {};
  line.remove_prefix(kComment.size());
  return {line.substr(0, line.size() - kNotSet.size()), false};
}

}  // namespace

// zlib passes uncompressed text through. Each option has one line, so reading stops after the last
// requested option.
std::vector<std::optional<bool>> are_built_with(const sdk::Host& host,
                                                std::span<const std::string_view> options) {
  std::vector<std::optional<bool>> built(options.size());
  sdk::Fd file = open_configuration(host);
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> config(
      file ? ::gzdopen(file.get(), "r") : nullptr, &::gzclose);
  if (!config) return built;
  file.release();
  std::size_t found_count = 0;
  std::array<char, kLineBytes> line;
  while (found_count < options.size() && ::gzgets(config.get(), line.data(), line.size())) {
    const auto [option, is_set] = parse_option_line(sdk::trimmed(line.data()));
    const auto found_option = std::ranges::find(options, option);
    if (option.empty() || found_option == options.end()) continue;
    auto& value = built[static_cast<std::size_t>(found_option - options.begin())];
    if (value) continue;
    value = is_set;
    ++found_count;
  }
  // Options that were not read, for example because memory was short, are unknown.
  int error = Z_OK;
  ::gzerror(config.get(), &error);
  for (auto& value : built)
    if (error >= Z_OK) value = value.value_or(false);
  return built;
}

std::optional<bool> is_built_with(const sdk::Host& host, std::string_view option) {
  return are_built_with(host, {&option, 1}).front();
}

bool has_configuration_in_proc(const sdk::Host& host) {
  return ::faccessat(host.proc(), kConfiguration, R_OK, 0) == 0;
}

std::vector<std::string> command_line(const sdk::Host& host) {
  sdk::TextFile file;
  const auto text = file.read(host.proc(), "cmdline");
  std::vector<std::string> words;
  for (std::string_view rest = text ? sdk::trimmed(text.value) : std::string_view{}; !rest.empty();)
    words.emplace_back(sdk::take(rest, ' '));
  return words;
}

bool is_on_command_line(const sdk::Host& host, std::string_view word) {
  const auto words = command_line(host);
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_absent(int directory, const char* path) {
  return ::faccessat(directory, path, F_OK, 0) != 0 && errno == ENOENT;
}

bool is_known_absent_from_command_line(const sdk::Host& host, std::string_view word) {
  const auto words = command_line(host);
  return !words.empty() && std::find(words.begin(), words.end(), word) == words.end();
}

std::vector<std::string> boot_option_values(const sdk::Host& host, std::string_view option) {
  std::vector<std::string> found;
  for (const std::string& word : command_line(host))
    if (word.starts_with(option)) found.push_back(word.substr(option.size()));
  return found;
}

std::string last_boot_option_value(const sdk::Host& host, std::string_view option) {
  const auto found = boot_option_values(host, option);
  return found.empty() ? std::string() : found.back();
}

Switch read_switch(const sdk::Host& host, const char* path) {
  sdk::TextFile file;
  if (const auto text = file.read(host.proc(), path))
    return sdk::trimmed(text.value) == "0" ? Switch::Off : Switch::On;
  const bool has_proc_sys =
      file.last_errno() == ENOENT && ::faccessat(host.proc(), "sys/kernel", F_OK, 0) == 0;
  return has_proc_sys ? Switch::Absent : Switch::Unknown;
}

std::string describe_unknown_switch(std::string_view name) {
  return "whether " + std::string(name) +
         " is enabled is unknown: /proc/sys cannot be read here (for example because /proc is "
         "mounted with subset=pid)";
}

std::uint32_t max_stack_depth(const sdk::Host& host) {
  sdk::TextFile file;
  const auto text = file.read(host.proc(), "sys/kernel/perf_event_max_stack");
  const auto max_depth = text ? sdk::number<std::uint32_t>(sdk::trimmed(text.value))
                              : sdk::Reading<std::uint32_t>(kDefaultDepth);
  return max_depth && max_depth.value > 0 ? max_depth.value : kDefaultDepth;
}

}  // namespace ctprof

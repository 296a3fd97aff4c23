#include "core/base/child_setup.hpp"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <mutex>
#include <string_view>

namespace ctprof {
namespace {

// LD_LIBRARY_PATH: the child may need it to start.
constexpr std::array<std::string_view, 5> kHarmlessVariables{"PATH", "LANG", "LANGUAGE", "TZ",
                                                             "LD_LIBRARY_PATH"};
constexpr std::string_view kLocalePrefix = "LC_";

// Landlock of Linux 6.12, which older headers lack.
constexpr long kLandlockCreateRuleset = 444, kLandlockRestrictSelf = 446;
constexpr std::uint64_t kLandlockAbstractSockets = 1 << 0, kLandlockSignals = 1 << 1;
struct LandlockRules {
  std::uint64_t handled_access_fs = 0, handled_access_net = 0, scoped = 0;
};

}  // namespace

void close_all_except(std::vector<int> kept_descriptors) {
  std::ranges::sort(kept_descriptors);
  unsigned next = 0;
  for (const int fd : kept_descriptors) {
    const auto descriptor = static_cast<unsigned>(fd);
    if (descriptor > next) ::close_range(next, descriptor - 1, 0);
    next = descriptor + 1;
  }
  ::close_range(next, UINT_MAX, 0);
}

void leave_session() {
  ::setsid();
  ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
}

void confine_to_own_processes() {
  const LandlockRules rules{.scoped = kLandlockAbstractSockets | kLandlockSignals};
  const auto descriptor =
      static_cast<int>(::syscall(kLandlockCreateRuleset, &rules, sizeof rules, 0));
  if (descriptor < 0) return;
  ::syscall(kLandlockRestrictSelf, descriptor, 0);
  ::close(descriptor);
}

std::vector<std::string> keep_harmless_variables(const char* const* variables,
                                                 const std::vector<std::string>& names) {
  std::vector<std::string> kept;
  for (; variables && *variables; ++variables) {
    const std::string_view variable = *variables;
    const std::string_view name = variable.substr(0, variable.find('='));
    if (std::ranges::count(kHarmlessVariables, name) > 0 || name.starts_with(kLocalePrefix) ||
        std::ranges::count(names, name) > 0)
      kept.emplace_back(variable);
  }
  return kept;
}

void start_again(std::vector<std::string> words, std::vector<std::string> variables) {
  const auto pointers_to = [](std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
  };
  ::execve("/proc/self/exe", pointers_to(words).data(), pointers_to(variables).data());
}

void fill_standard_descriptors() {
  while (true) {
    const int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd <= STDERR_FILENO && fd >= 0) continue;
    if (fd >= 0) ::close(fd);
    return;
  }
}

void reap_later(int process) {
  static std::mutex mutex;
  static std::vector<int> processes;
  const std::lock_guard lock(mutex);
  processes.push_back(process);
  std::erase_if(processes, [](int process) { return ::waitpid(process, nullptr, WNOHANG) != 0; });
}

}  // namespace ctprof

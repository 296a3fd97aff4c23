#include "plugins/shared/helper_confinement.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdio>

namespace ctprof {
namespace {

constexpr int kSocket = 3;
constexpr int kProc = 4;
constexpr int kTemporaryFd = 16;

// The sanitizers' shadow memory is larger than any limit.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

void set_limit(decltype(RLIMIT_CPU) resource, std::uint64_t max_value) {
  rlimit old_limit{};
  if (::getrlimit(resource, &old_limit) != 0) return;
  const rlim_t lowered =
      max_value < old_limit.rlim_max ? static_cast<rlim_t>(max_value) : old_limit.rlim_max;
  const rlimit new_limit{lowered, lowered};
  ::setrlimit(resource, &new_limit);
}

// Returns the size of the address space in bytes; 0 if it is unknown.
std::uint64_t address_space() {
  char text[64] = {};
  const int fd = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const ssize_t size = fd < 0 ? 0 : ::read(fd, text, sizeof text - 1);
  if (fd >= 0) ::close(fd);
  unsigned long long pages = 0;
  if (size <= 0 || std::sscanf(text, "%llu", &pages) != 1) return 0;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void limit_memory(std::uint64_t extra_bytes) {
  const std::uint64_t current_bytes = address_space();
  if (!kSanitized && current_bytes != 0) set_limit(RLIMIT_AS, current_bytes + extra_bytes);
}

using CapabilitySets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

// Kernels without CAP_CHECKPOINT_RESTORE require CAP_SYS_ADMIN to open map_files.
void keep_reading_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  CapabilitySets sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return;
  const auto has = [&](unsigned which) {
    return (sets[CAP_TO_INDEX(which)].effective & CAP_TO_MASK(which)) != 0;
  };
  const unsigned opens_maps = has(CAP_CHECKPOINT_RESTORE) ? CAP_CHECKPOINT_RESTORE : CAP_SYS_ADMIN;
  CapabilitySets remaining{};
  for (const unsigned which : {unsigned{CAP_SYS_PTRACE}, unsigned{CAP_DAC_READ_SEARCH}, opens_maps})
    if (has(which)) remaining[CAP_TO_INDEX(which)].effective |= CAP_TO_MASK(which);
  for (auto& words : remaining) words.permitted = words.effective;
  ::syscall(SYS_capset, &header, remaining.data());
}

}  // namespace

HelperFds close_other_descriptors(int socket, int proc) {
  const int reopened_proc = ::openat(proc, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  const int high_socket = ::fcntl(socket, F_DUPFD_CLOEXEC, kTemporaryFd);
  const int high_proc = ::fcntl(reopened_proc, F_DUPFD_CLOEXEC, kTemporaryFd);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (high_socket < 0 || high_proc < 0) return {-1, -1};
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::dup2(null < 0 ? high_proc : null, standard);
  const bool moved = ::dup2(high_socket, kSocket) == kSocket && ::dup2(high_proc, kProc) == kProc;
  const bool closed = ::syscall(SYS_close_range, kProc + 1, ~0U, 0) == 0;
  return moved && closed ? HelperFds{kSocket, kProc} : HelperFds{-1, -1};
}

void reset_signals() {
  ::setsid();
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void confine_process(unsigned cpu_seconds, std::uint64_t extra_memory) {
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_FSIZE, 0);
  set_limit(RLIMIT_CPU, cpu_seconds);
  limit_memory(extra_memory);
  keep_reading_capabilities();
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

}  // namespace ctprof

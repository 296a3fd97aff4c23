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
constexpr int kAboveAll = 16;

// The sanitizers' shadow memory is larger than any limit.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

void limit(decltype(RLIMIT_CPU) resource, std::uint64_t most) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return;
  const rlim_t lower = most < now.rlim_max ? static_cast<rlim_t>(most) : now.rlim_max;
  const rlimit wanted{lower, lower};
  ::setrlimit(resource, &wanted);
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

void limit_memory(std::uint64_t more) {
  const std::uint64_t now = address_space();
  if (!kSanitized && now != 0) limit(RLIMIT_AS, now + more);
}

using Sets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

// Kernels without CAP_CHECKPOINT_RESTORE require CAP_SYS_ADMIN to open map_files.
void keep_reading_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  Sets sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return;
  const auto has = [&](unsigned which) {
    return (sets[CAP_TO_INDEX(which)].effective & CAP_TO_MASK(which)) != 0;
  };
  const unsigned opens_maps = has(CAP_CHECKPOINT_RESTORE) ? CAP_CHECKPOINT_RESTORE : CAP_SYS_ADMIN;
  Sets kept{};
  for (const unsigned which : {unsigned{CAP_SYS_PTRACE}, unsigned{CAP_DAC_READ_SEARCH}, opens_maps})
    if (has(which)) kept[CAP_TO_INDEX(which)].effective |= CAP_TO_MASK(which);
  for (auto& words : kept) words.permitted = words.effective;
  ::syscall(SYS_capset, &header, kept.data());
}

}  // namespace

HelperFds close_all_but(int socket, int proc) {
  const int again = ::openat(proc, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  const int high_socket = ::fcntl(socket, F_DUPFD_CLOEXEC, kAboveAll);
  const int high_proc = ::fcntl(again, F_DUPFD_CLOEXEC, kAboveAll);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (high_socket < 0 || high_proc < 0) return {-1, -1};
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::dup2(null < 0 ? high_proc : null, standard);
  const bool moved = ::dup2(high_socket, kSocket) == kSocket && ::dup2(high_proc, kProc) == kProc;
  const bool closed = ::syscall(SYS_close_range, kProc + 1, ~0U, 0) == 0;
  return moved && closed ? HelperFds{kSocket, kProc} : HelperFds{-1, -1};
}

void forget_signals() {
  ::setsid();
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void give_up_rights(unsigned cpu_seconds, std::uint64_t more_memory) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_CPU, cpu_seconds);
  limit_memory(more_memory);
  keep_reading_capabilities();
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

}  // namespace ctprof

#include "plugins/shared/bpf_refusal.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "ctprof/files.hpp"
#include "plugins/shared/kernel.hpp"

namespace ctprof {
namespace {

constexpr const char* kTypes = "kernel/btf/vmlinux";
// Errors for unsupported programs, maps and types, and of libraries that miss one of these.
constexpr std::array kRefusalErrors{EINVAL, E2BIG, ENOENT, ESRCH, EACCES, EOPNOTSUPP, ENOTSUP};

std::string operator+(std::string text, std::string_view more) { return text.append(more); }

// Parses "6.18.44-amd64" as {6, 18}.
std::pair<unsigned, unsigned> parse_release(std::string_view text) {
  const auto major = sdk::number<unsigned>(sdk::take(text, '.'));
  const auto end = std::ranges::find_if(text, [](char c) { return c < '0' || c > '9'; });
  const auto minor = sdk::number<unsigned>({text.begin(), end});
  return {major.value, minor.value};
}

bool is_locked_down(const sdk::Host& host) {
  sdk::TextFile file;
  const auto text = file.read(host.sys(), "kernel/security/lockdown");
  return text && text.value.find("[confidentiality]") != std::string_view::npos;
}

}  // namespace

BpfRefusal check_host_for_bpf(const sdk::Host& host) {
  if (!host.live() || !host.own_tids())
    return {
        Gap::Unsupported,
        "BPF reads only threads of the running kernel, by thread ids of ctprof's PID namespace; "
        "this tree belongs to another kernel or PID namespace",
        {}};
  if (!is_in_initial_namespace(host, InitialNamespace::Pid))
    return {Gap::Unsupported,
            "ctprof runs in a PID namespace of its own, and BPF uses the host's thread ids: "
            "start ctprof on the host",
            {}};
  if (!is_in_initial_namespace(host, InitialNamespace::Time))
    return {Gap::Unsupported,
            "ctprof runs in a time namespace of its own, which shifts start times; run it in the "
            "host's (nsenter -t 1 -T)",
            {}};
  if (::faccessat(host.sys(), kTypes, F_OK, 0) != 0)
    return {Gap::Unsupported,
            "the kernel does not describe its structures (no /sys/kernel/btf/vmlinux): it has no "
            "CONFIG_DEBUG_INFO_BTF",
            sdk::by_kernel("CONFIG_DEBUG_INFO_BTF=y")};
  return {};
}

bool can_load_bpf() {
  return has_capabilities({CAP_SYS_ADMIN}, true) || has_capabilities({CAP_BPF, CAP_PERFMON}, true);
}

bool lacks_memory_for_bpf(const sdk::Host& host) {
  // Loading needs two copies at the same time, an index over them, and memory for the programs.
  constexpr std::size_t kCopiesOfTypes = 4;
  struct stat types {};
  if (::fstatat(host.sys(), kTypes, &types, 0) != 0 || types.st_size <= 0) return false;
  const std::size_t size = kCopiesOfTypes * static_cast<std::size_t>(types.st_size);
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno == ENOMEM;
  ::munmap(memory, size);
  return false;
}

BpfRefusal explain_bpf_refusal(const sdk::Host& host, const BpfPrograms& programs, int error) {
  if (error == ENOMEM || lacks_memory_for_bpf(host))
    return {Gap::SourceFailed,
            "not enough memory to load " + std::string(programs.description) + " (" +
                std::strerror(error) +
                "): raise the limit on memory (ulimit -v, or memory.max of the cgroup)",
            {}};
  if (!can_load_bpf())
    return {Gap::Denied,
            "the kernel lets only CAP_BPF with CAP_PERFMON load " +
                std::string(programs.description) +
                ": run ctprof as root, or grant it both capabilities",
            sdk::by_capabilities(programs.capabilities)};
  if (is_locked_down(host))
    return {Gap::Denied,
            "the kernel is locked down (confidentiality): no BPF program may read its memory",
            sdk::by_boot("without lockdown=confidentiality")};
  if (is_built_with(host, "CONFIG_BPF_EVENTS") == false)
    return {Gap::Unsupported, "the kernel has no CONFIG_BPF_EVENTS: it cannot attach BPF programs",
            sdk::by_kernel("CONFIG_BPF_EVENTS=y")};
  utsname name{};
  ::uname(&name);
  return explain_kernel_refusal(programs, error, name.release);
}

BpfRefusal explain_kernel_refusal(const BpfPrograms& programs, int error,
                                  std::string_view release) {
  if (error == EPERM)
    return {Gap::Denied,
            "bpf(2) is not permitted for this process, for example by a container's seccomp "
            "profile: start ctprof outside the container",
            {}};
  if (error == ENOSYS)
    return {Gap::Unsupported, "the kernel has no CONFIG_BPF_SYSCALL",
            sdk::by_kernel("CONFIG_BPF_SYSCALL=y")};
  const std::string programs_with_error =
      std::string(programs.description) + " (" + std::strerror(error) + ")";
  if (std::ranges::find(kRefusalErrors, error) == kRefusalErrors.end())
    return {Gap::SourceFailed, "the kernel could not load " + programs_with_error, {}};
  if (parse_release(release) < parse_release(programs.first_release))
    return {Gap::Unsupported,
            "the kernel, Linux " + std::string(release) + ", cannot load " + programs_with_error +
                "; Linux " + programs.first_release + " is the first version that can",
            sdk::by_kernel(programs.required_release)};
  return {Gap::SourceFailed,
          "the kernel refused " + programs_with_error + ", although Linux " +
              programs.first_release + " and newer can load them and this kernel is " + release +
              ": a security module, a seccomp profile or a modified kernel may forbid it; "
              "otherwise it is a bug of ctprof: please report it",
          {}};
}

}  // namespace ctprof

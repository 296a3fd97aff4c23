#include "plugins/jemalloc-ptrace/probe.hpp"

#include <sys/ptrace.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "ctprof/files.hpp"

namespace ctprof::jemalloc {
namespace {

// Asked to trace a process that cannot be, a kernel that traces at all says that there is none; a seccomp filter or a sandbox speaks
// before it. No process is touched.
int tracing_error() {
  constexpr pid_t kNobody = 0;
  if (::ptrace(PTRACE_SEIZE, kNobody, nullptr, nullptr) == 0 || errno == ESRCH) return 0;
  return errno;
}

bool yama_forbids(const sdk::Host& host) {
  sdk::TextFile file;
  const auto scope = file.read(host.proc(), "sys/kernel/yama/ptrace_scope");
  return scope && sdk::trimmed(scope.value) == "3";
}

}  // namespace

void probe_host(const sdk::Host& host, const sdk::Probe& probe) {
  if (!host.live()) return probe.refuse_all(Gap::Unsupported, "a recorded tree has no running threads to look into");
  if (!host.own_tids())
    return probe.refuse_all(Gap::Unsupported,
                            "the tree is another PID namespace's: its thread ids mean nothing to ptrace(2) here");
  if (yama_forbids(host))
    return probe.refuse_all(Gap::Denied, "kernel.yama.ptrace_scope is 3: nobody may trace until the next boot");
  if (const int error = tracing_error(); error != 0)
    probe.refuse_all(Gap::Denied, std::string("ptrace(2) is closed to this process (") + std::strerror(error) +
                                      "), as by a container's seccomp profile: start it outside, or allow ptrace there");
}

}  // namespace ctprof::jemalloc

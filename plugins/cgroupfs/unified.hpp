// What would give a host the cgroup v2 hierarchy, or the controllers in it that are mounted as v1.

#pragma once

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "ctprof/remedy.hpp"
#include "plugins/shared/namespaces.hpp"

namespace ctprof::cgroupfs {

// Whether process 1 is the host's: in a PID namespace of its own a container has another. A
// recording's is taken for its host's.
inline bool shows_init(const sdk::Host& host) {
  return !host.live() || is_in(host, FirstNamespace::Pid);
}

// systemd mounts what its own word says. Another init mounts what it likes; but where v2 is
// mounted, the kernel can be told to let v1 have no controller.
inline sdk::Remedy unified_boot(const sdk::Host& host) {
  if (!shows_init(host)) return {};
  sdk::TextFile file;
  const auto init = file.read(host.proc(), "1/comm");
  if (init && sdk::trimmed(init.value) == "systemd")
    return sdk::by_boot("systemd.unified_cgroup_hierarchy=1");
  return init && host.cgroup() >= 0
             ? sdk::by_boot(
                   "cgroup_no_v1=all, which takes the controllers from what mounts cgroup v1")
             : sdk::Remedy{};
}

}  // namespace ctprof::cgroupfs

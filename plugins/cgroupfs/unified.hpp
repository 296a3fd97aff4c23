// What would give a host the cgroup v2 hierarchy, or the controllers in it that are mounted as v1.

#pragma once

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "ctprof/remedy.hpp"

namespace ctprof::cgroupfs {

// systemd mounts what its own word says. Another init mounts what it likes; but where v2 is mounted, the kernel can be told to let v1 have no
// controller.
inline sdk::Remedy unified_boot(const sdk::Host& host) {
  sdk::TextFile file;
  const auto init = file.read(host.proc(), "1/comm");
  if (init && sdk::trimmed(init.value) == "systemd") return sdk::by_boot("systemd.unified_cgroup_hierarchy=1");
  return init && host.cgroup() >= 0 ? sdk::by_boot("cgroup_no_v1=all") : sdk::Remedy{};
}

}  // namespace ctprof::cgroupfs

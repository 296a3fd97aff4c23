// What would give a host the cgroup v2 hierarchy, or controllers in it that are mounted as v1.

#pragma once

#include "ctprof/files.hpp"
#include "ctprof/host.hpp"
#include "ctprof/remedy.hpp"

namespace ctprof::cgroupfs {

// systemd mounts what its own word says; under another init the kernel can be told to keep v1 from having any controller.
inline sdk::Remedy unified_boot(const sdk::Host& host) {
  sdk::TextFile file;
  const auto init = file.read(host.proc(), "1/comm");
  const bool systemd = init && sdk::trimmed(init.value) == "systemd";
  return sdk::by_boot(systemd ? "systemd.unified_cgroup_hierarchy=1" : "cgroup_no_v1=all");
}

}  // namespace ctprof::cgroupfs

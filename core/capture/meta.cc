#include "core/capture/meta.hpp"

#include <unistd.h>

#include <string>

#include "core/base/clock.hpp"
#include "core/base/version.hpp"
#include "core/file/file.hpp"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

std::string read(int root, const char* path) {
  sdk::TextFile file;
  const auto text = file.read(root, path);
  return std::string(text ? sdk::trimmed(text.value) : std::string_view{});
}

// The effective set of this process, from the host's own /proc whatever root is read.
std::string effective_capabilities() {
  sdk::TextFile file;
  const auto status = file.read(AT_FDCWD, "/proc/self/status");
  const auto value =
      status ? sdk::value_of(status.value, "CapEff") : sdk::Reading<std::string_view>(status.gap);
  return std::string(value ? value.value : std::string_view{});
}

}  // namespace

Moment now() { return {realtime_ns(), boottime_ns()}; }

Meta begin_meta(const Roots& roots, bool with_hostname) {
  Meta meta;
  meta.format = kFileFormat;
  meta.tool = kVersion;
  meta.boot_id = read(roots.proc_fd.get(), "sys/kernel/random/boot_id");
  if (with_hostname)
    if (std::string name = read(roots.proc_fd.get(), "sys/kernel/hostname"); !name.empty())
      meta.hostname = std::move(name);
  meta.user_hz = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  meta.live = roots.live;
  meta.euid = ::geteuid();
  meta.capabilities = effective_capabilities();
  meta.cgroup_mount = roots.cgroup;
  meta.cgroup_root = roots.cgroup_root;
  meta.start = now();
  return meta;
}

}  // namespace ctprof

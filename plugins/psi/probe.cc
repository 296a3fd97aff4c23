#include "plugins/psi/probe.hpp"

#include <cerrno>
#include <string>
#include <string_view>

#include "ctprof/files.hpp"
#include "plugins/cgroupfs/unified.hpp"
#include "plugins/psi/files.hpp"
#include "plugins/shared/command_line.hpp"
#include "plugins/shared/kernel_config.hpp"

namespace ctprof::psi {
namespace {

struct Refusal {
  Gap gap;
  std::string_view reason;
  sdk::Remedy remedy{};
};

// Why there is no pressure at all.
Refusal why_no_pressure(const sdk::Host& host) {
  const std::string psi = boot_option(host, "psi=");
  if (psi == "0" || psi == "n" || psi == "off")
    return {Gap::SwitchedOff,
            "pressure is switched off by psi=0 on the kernel's command line; psi=1 there gives it",
            sdk::by_boot("psi=1")};
  const auto built = is_built_with(host, "CONFIG_PSI");
  if (!built && psi.empty())
    return {
        Gap::Unsupported,
        "the kernel keeps no pressure: it has no CONFIG_PSI, or needs psi=1 on its command line",
        sdk::by_boot("psi=1, if the kernel has CONFIG_PSI")};
  if (!built.value_or(false))
    return {Gap::Unsupported, "the kernel keeps no pressure: it has no CONFIG_PSI",
            sdk::by_kernel("CONFIG_PSI=y")};
  if (psi.empty() && is_built_with(host, "CONFIG_PSI_DEFAULT_DISABLED").value_or(false))
    return {Gap::SwitchedOff,
            "the kernel keeps pressure only with psi=1 on its command line "
            "(CONFIG_PSI_DEFAULT_DISABLED)",
            sdk::by_boot("psi=1")};
  return {Gap::Unsupported, "the kernel has CONFIG_PSI, and shows no pressure here all the same"};
}

// The kernel adds up all such words.
bool is_disabled(const sdk::Host& host, std::string_view feature) {
  for (const std::string& list : boot_options(host, "cgroup_disable="))
    for (std::string_view rest = list; !rest.empty();)
      if (sdk::take(rest, ',') == feature) return true;
  return false;
}

Refusal why_no_pressure_of_cgroups(const sdk::Host& host) {
  if (is_disabled(host, "pressure"))
    return {Gap::SwitchedOff,
            "pressure of cgroups is switched off by cgroup_disable=pressure on the kernel's "
            "command line",
            sdk::by_boot("without cgroup_disable=pressure")};
  return why_no_pressure(host);
}

constexpr std::string_view kNoIrq =
    "the kernel keeps no pressure by interrupts: it has no CONFIG_IRQ_TIME_ACCOUNTING (Linux 6.1)";
constexpr auto kWithIrq = sdk::by_kernel("CONFIG_IRQ_TIME_ACCOUNTING=y (Linux 6.1 or newer)");
constexpr std::string_view kNoFull =
    "the kernel has no line `full` for this resource, which came with Linux 5.13";

// What is refused when `name` cannot be read as a pressure file. One that exists and may not be
// read is not missing.
template <class File>
void probe_file(const sdk::Probe& probe, int dir, const char* name, const Refusal& whole) {
  sdk::TextFile file;
  const auto text = file.read(dir, name);
  const bool is_irq = std::string_view(name).find("irq") != std::string_view::npos;
  File::refuse_what_no_kernel_has(probe);
  if (text && !parse_pressure(text.value).full.total_usec)
    File::FullFields::refuse(probe, Gap::Unsupported, kNoFull,
                             sdk::by_kernel("Linux 5.13 or newer"));
  if (text) return;
  if (file.last_errno() == EOPNOTSUPP)
    File::refuse(probe, Gap::SwitchedOff, "the kernel was started without pressure; psi=1 gives it",
                 sdk::by_boot("psi=1"));
  if (file.last_errno() != ENOENT) return;
  is_irq&& whole.gap == Gap::None ? File::refuse(probe, Gap::Unsupported, kNoIrq, kWithIrq)
                                  : File::refuse(probe, whole.gap, whole.reason, whole.remedy);
}

// Refuses all, for one reason, save what has a better one.
template <class Files>
void refuse_all(const sdk::Probe& probe, const Refusal& whole) {
  Files::for_each_type([&]<class File>() {
    File::refuse(probe, whole.gap, whole.reason, whole.remedy);
    File::refuse_what_no_kernel_has(probe);
  });
}

// Whether the root's files are hidden by its own switch; those of other cgroups are not then.
bool is_switched_off_at_root(const sdk::Host& host) {
  sdk::TextFile file;
  const auto text = file.read(host.cgroup(), "cgroup.pressure");
  return text && sdk::trimmed(text.value) == "0";
}

bool is_there(int dir, const char* name) {
  sdk::TextFile file;
  return file.read(dir, name) || file.last_errno() != ENOENT;
}

}  // namespace

void probe_host(const sdk::Host& host, const sdk::Probe& probe) {
  const Refusal whole =
      is_there(host.proc(), "pressure/cpu") ? Refusal{Gap::None, {}} : why_no_pressure(host);
  HostFiles::for_each_type(
      [&]<class File>() { probe_file<File>(probe, host.proc(), File::kHostName, whole); });
}

void probe_cgroups(const sdk::Host& host, const sdk::Probe& probe) {
  if (host.cgroup() < 0)
    return refuse_all<CgroupFiles>(probe, {Gap::Unsupported, "no cgroup v2 hierarchy is mounted",
                                           cgroupfs::unified_boot(host)});
  if (is_switched_off_at_root(host)) return;
  const Refusal whole = is_there(host.cgroup(), "cpu.pressure") ? Refusal{Gap::None, {}}
                                                                : why_no_pressure_of_cgroups(host);
  CgroupFiles::for_each_type(
      [&]<class File>() { probe_file<File>(probe, host.cgroup(), File::kCgroupName, whole); });
}

}  // namespace ctprof::psi

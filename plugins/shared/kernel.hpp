// What the host's kernel was built with, started with, and has switched on, and what it lets this
// process do: for probing.
//
// Sources: the configuration in /proc/config.gz (CONFIG_IKCONFIG_PROC), of the running kernel also
// in /boot/config-<release>, where distributions put it; /proc/cmdline; switches under /proc/sys;
// capget(2); the inode numbers of /proc/self/ns.

#pragma once

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ctprof/host.hpp"

namespace ctprof {

// Whether an option such as "CONFIG_PSI" is y; nothing where no configuration can be read.
std::optional<bool> is_built_with(const sdk::Host& host, std::string_view option);
// The same of each of several, for which the configuration, which is compressed, is read once.
std::vector<std::optional<bool>> are_built_with(const sdk::Host& host,
                                                std::span<const std::string_view> options);
// Whether the configuration in /proc is there to be read, now; if not, they are of the one in
// /boot.
bool has_configuration_in_proc(const sdk::Host& host);

// The words of the kernel's command line; none where it cannot be read.
std::vector<std::string> command_line(const sdk::Host& host);
bool is_on_command_line(const sdk::Host& host, std::string_view wanted);
// False too where the command line cannot be read.
bool is_known_to_lack(const sdk::Host& host, std::string_view wanted);

// What follows `option` in each word that begins with it, in order.
std::vector<std::string> boot_options(const sdk::Host& host, std::string_view option);
// The last of them, for options of which the last counts; empty where there is none.
std::string boot_option(const sdk::Host& host, std::string_view option);

// Switches of the running kernel. Before Linux 5.14 there is no kernel.task_delayacct, and delays
// are always accounted.
inline constexpr const char* kDelayAccounting = "sys/kernel/task_delayacct";
inline constexpr const char* kScheduleStatistics = "sys/kernel/sched_schedstats";

enum class Switch {
  Off,
  On,
  Absent,   // the kernel has no switch of that name
  Unknown,  // it cannot be read, as where /proc is mounted without /proc/sys (subset=pid)
};

Switch state_of(const sdk::Host& host, const char* path);

// Whether there is no such file below the directory; false where nobody may know.
bool is_absent(int directory, const char* path);

// The reason to give for a metric whose switch is Unknown.
std::string unknown_switch(std::string_view name);

// The most frames that the kernel puts into a stack, of those of its own and of those that it finds
// by frame pointers: kernel.perf_event_max_stack.
std::uint32_t deepest_chain(const sdk::Host& host);

// Whether all these capabilities are effective; `unknown` when that cannot be found out.
inline bool has_capabilities(std::initializer_list<unsigned> capabilities, bool unknown = false) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return unknown;
  for (const unsigned capability : capabilities)
    if ((sets[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) == 0) return false;
  return true;
}

// The namespaces that the kernel started with, by their inode numbers, which never change
// (include/linux/proc_ns.h of the kernel).
enum class FirstNamespace : std::uint64_t { Time = 0xEFFFFFFA, Pid = 0xEFFFFFFC };

// Whether this process is in it. True too where the kernel has no such namespaces.
inline bool is_in(const sdk::Host& host, FirstNamespace first) {
  struct stat status;
  const char* path = first == FirstNamespace::Pid ? "self/ns/pid" : "self/ns/time";
  return ::fstatat(host.proc(), path, &status, 0) != 0 ||
         status.st_ino == static_cast<std::uint64_t>(first);
}

}  // namespace ctprof

// For probes: the build configuration, boot options and switches of the host's kernel, and the
// capabilities of this process.
//
// Sources: the configuration in /proc/config.gz (CONFIG_IKCONFIG_PROC), for the running kernel also
// in /boot/config-<release>, where distributions install it; /proc/cmdline; switches under
// /proc/sys; capget(2); the inode numbers of /proc/self/ns.

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

// Returns whether an option such as "CONFIG_PSI" is y; no value if no configuration can be read.
std::optional<bool> is_built_with(const sdk::Host& host, std::string_view option);
// Does the same for several options, and reads the compressed configuration only once.
std::vector<std::optional<bool>> are_built_with(const sdk::Host& host,
                                                std::span<const std::string_view> options);
// Returns whether the configuration in /proc is currently readable. Otherwise the functions above
// use the one in /boot.
bool has_configuration_in_proc(const sdk::Host& host);

// Returns the words of the kernel's command line; none if it cannot be read.
std::vector<std::string> command_line(const sdk::Host& host);
bool is_on_command_line(const sdk::Host& host, std::string_view word);
// Returns whether the command line lacks the word; false if the command line cannot be read.
bool is_known_absent_from_command_line(const sdk::Host& host, std::string_view word);

// Returns the rest of each word that begins with `option`, in order.
std::vector<std::string> boot_option_values(const sdk::Host& host, std::string_view option);
// Returns the last element of boot_option_values(), for options whose last occurrence counts; empty
// if there is none.
std::string last_boot_option_value(const sdk::Host& host, std::string_view option);

// Switches of the running kernel. Linux before 5.14 has no kernel.task_delayacct, and always
// accounts delays.
inline constexpr const char* kDelayAccounting = "sys/kernel/task_delayacct";
inline constexpr const char* kScheduleStatistics = "sys/kernel/sched_schedstats";

enum class Switch {
  Off,
  On,
  Absent,   // the kernel has no switch of that name
  Unknown,  // it cannot be read, for example because /proc is mounted without /proc/sys
            // (subset=pid)
};

Switch read_switch(const sdk::Host& host, const char* path);

// Returns whether the directory has no such file; false if that is unknown.
bool is_absent(int directory, const char* path);

// Returns the reason for a metric whose switch is Unknown.
std::string describe_unknown_switch(std::string_view name);

// Returns the largest number of frames that the kernel records in a stack, for kernel frames and
// for frames found by frame pointers: kernel.perf_event_max_stack.
std::uint32_t max_stack_depth(const sdk::Host& host);

// Returns whether all these capabilities are effective; `unknown` if that cannot be determined.
inline bool has_capabilities(std::initializer_list<unsigned> capabilities,
                             bool if_unknown = false) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return if_unknown;
  for (const unsigned capability : capabilities)
    if ((sets[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) == 0) return false;
  return true;
}

// The initial namespaces of the kernel, by their inode numbers, which never change
// (include/linux/proc_ns.h of the kernel).
enum class InitialNamespace : std::uint64_t { Time = 0xEFFFFFFA, Pid = 0xEFFFFFFC };

// Returns whether this process is in that namespace; also true if the kernel has no such
// namespaces.
inline bool is_in_initial_namespace(const sdk::Host& host, InitialNamespace initial_namespace) {
  struct stat status;
  const char* path = initial_namespace == InitialNamespace::Pid ? "self/ns/pid" : "self/ns/time";
  return ::fstatat(host.proc(), path, &status, 0) != 0 ||
         status.st_ino == static_cast<std::uint64_t>(initial_namespace);
}

}  // namespace ctprof

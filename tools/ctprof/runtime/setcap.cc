#include "tools/ctprof/runtime/setcap.hpp"

#include <linux/capability.h>
#include <linux/limits.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "core/base/text.hpp"
#include "core/registry/loader.hpp"
#include "core/render/terminal_text.hpp"
#include "ctprof/files.hpp"

namespace ctprof::cli {
namespace {

// Indexed by capability number. Names as in setcap and include/uapi/linux/capability.h, without
// "cap_".
constexpr std::array<std::string_view, 41> kCapabilityNames{"chown",
                                                            "dac_override",
                                                            "dac_read_search",
                                                            "fowner",
                                                            "fsetid",
                                                            "kill",
                                                            "setgid",
                                                            "setuid",
                                                            "setpcap",
                                                            "linux_immutable",
                                                            "net_bind_service",
                                                            "net_broadcast",
                                                            "net_admin",
                                                            "net_raw",
                                                            "ipc_lock",
                                                            "ipc_owner",
                                                            "sys_module",
                                                            "sys_rawio",
                                                            "sys_chroot",
                                                            "sys_ptrace",
                                                            "sys_pacct",
                                                            "sys_admin",
                                                            "sys_boot",
                                                            "sys_nice",
                                                            "sys_resource",
                                                            "sys_time",
                                                            "sys_tty_config",
                                                            "mknod",
                                                            "lease",
                                                            "audit_write",
                                                            "audit_control",
                                                            "setfcap",
                                                            "mac_override",
                                                            "mac_admin",
                                                            "syslog",
                                                            "wake_alarm",
                                                            "block_suspend",
                                                            "audit_read",
                                                            "perfmon",
                                                            "bpf",
                                                            "checkpoint_restore"};
static_assert(kCapabilityNames[CAP_NET_ADMIN] == "net_admin" &&
              kCapabilityNames[CAP_SYS_PTRACE] == "sys_ptrace" &&
              kCapabilityNames[CAP_SYSLOG] == "syslog" && kCapabilityNames[CAP_BPF] == "bpf");

using CapabilityMask = std::uint64_t;

constexpr std::uint64_t kFirstUserNamespace = 0xEFFFFFFD;  // the kernel's include/linux/proc_ns.h

CapabilityMask capability_mask(std::string_view names) {
  CapabilityMask mask = 0;
  for (std::string_view name : split(names)) {
    if (!name.starts_with("cap_")) continue;
    name.remove_prefix(4);
    const auto at = std::find(kCapabilityNames.begin(), kCapabilityNames.end(), name);
    if (at != kCapabilityNames.end()) mask |= CapabilityMask{1} << (at - kCapabilityNames.begin());
  }
  return mask;
}

// "cap_bpf,cap_perfmon", in alphabetical order.
std::string capability_names(CapabilityMask mask) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kCapabilityNames.size(); ++i)
    if ((mask >> i & 1) != 0) names.insert("cap_" + std::string(kCapabilityNames[i]));
  return join_texts(names, ",");
}

CapabilityMask read_bounding_set() {
  CapabilityMask mask = 0;
  for (std::size_t i = 0; i < kCapabilityNames.size(); ++i)
    if (::prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1) mask |= CapabilityMask{1} << i;
  return mask;
}

// The capabilities that the file already grants. Numbers on disk are little-endian.
CapabilityMask read_file_capabilities(const std::string& path) {
  std::array<unsigned char, sizeof(vfs_ns_cap_data)> data{};
  if (::getxattr(path.c_str(), "security.capability", data.data(), data.size()) <
      ssize_t{XATTR_CAPS_SZ_2})
    return 0;
  const auto word = [&](std::size_t at) {
    return CapabilityMask{data[at]} | CapabilityMask{data[at + 1]} << 8 |
           CapabilityMask{data[at + 2]} << 16 | CapabilityMask{data[at + 3]} << 24;
  };
  constexpr std::size_t kPermittedLow = 4, kPermittedHigh = 12;  // vfs_cap_data::data[0], [1]
  return word(kPermittedLow) | word(kPermittedHigh) << 32;
}

// Returns the path of the running executable, or an empty string if that file was deleted or
// replaced.
std::string executable_path() {
  std::array<char, PATH_MAX> path;
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  std::string name(path.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  struct stat own, named;
  const bool same = ::stat("/proc/self/exe", &own) == 0 && ::stat(name.c_str(), &named) == 0 &&
                    own.st_dev == named.st_dev && own.st_ino == named.st_ino;
  return same ? name : std::string();
}

bool is_nosuid(const std::string& path) {
  struct statvfs status;
  return ::statvfs(path.c_str(), &status) == 0 && (status.f_flag & ST_NOSUID) != 0;
}

bool is_in_first_user_namespace() {
  struct stat status;
  return ::stat("/proc/self/ns/user", &status) != 0 || status.st_ino == kFirstUserNamespace;
}

bool has_no_new_privs() { return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1; }

// Returns why file capabilities would have no effect, or an empty string if they would have one.
std::string explain_useless_capabilities(const std::string& path) {
  if (!is_in_first_user_namespace())
    return "ctprof runs in a user namespace of its own, where capabilities are not the host's: "
           "start it outside";
  if (has_no_new_privs())
    return "this process may get no new privileges (no_new_privs), so file capabilities "
           "would have no effect";
  if (path.empty()) return "the executable of ctprof was deleted and cannot get capabilities";
  if (make_printable(path) != path)
    return "the path of this executable has characters that cannot be printed, so ctprof cannot "
           "print a setcap command for it: " +
           path;
  if (is_nosuid(path))
    return "capabilities of " + path + " would have no effect: its filesystem is mounted nosuid";
  if (const std::string why = find_privileged_refusal(own_plugin_directory()); !why.empty())
    return "a ctprof with file capabilities loads only plugins that only root can change, but " +
           why +
           ": install ctprof as root, in directories that only root can change, and run it from "
           "there";
  return {};
}

}  // namespace

std::string quote_for_shell(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,=:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

bool sudo_would_work() { return is_in_first_user_namespace() && !has_no_new_privs(); }

bool sudo_would_grant(const std::string& capabilities) {
  return sudo_would_work() && (capability_mask(capabilities) & ~read_bounding_set()) == 0;
}

Setcap setcap_for(const std::set<std::string>& wanted) {
  CapabilityMask all = 0;
  for (const std::string& names : wanted) all |= capability_mask(names);
  if (all == 0) return {};
  const std::string path = executable_path();
  if (const std::string why = explain_useless_capabilities(path); !why.empty()) return {{}, {why}};
  Setcap setcap;
  const CapabilityMask reachable = read_bounding_set();
  if (const CapabilityMask beyond = all & ~reachable; beyond != 0)
    setcap.notes.push_back(
        capability_names(beyond) +
        ": not available here, because the bounding set lacks them, as in a container: " +
        "start the container with these capabilities");
  if ((all & reachable) == 0) return setcap;
  setcap.command =
      "setcap " + capability_names((all & reachable) | (read_file_capabilities(path) & reachable)) +
      "+ep " + quote_for_shell(path);
  setcap.notes.emplace_back(
      "every user who may execute that file can then see the processes of other users, their I/O, "
      "delays, memory and heap sizes, but no contents of memory or files: restrict its permissions "
      "(docs/security.md)");
  setcap.notes.emplace_back(
      "with file capabilities ctprof refuses --rootfs and loads no plugins from --plugin-path and "
      "CTPROF_PLUGIN_PATH: for those, use a ctprof without capabilities");
  return setcap;
}

}  // namespace ctprof::cli

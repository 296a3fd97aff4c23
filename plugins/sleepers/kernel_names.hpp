// Where functions of the kernel are, by name: what /proc/PID/task/TID/stack tells without
// addresses.
//
// Source: /proc/kallsyms, read once, which takes some tens of milliseconds; with addresses only for
// CAP_SYSLOG, and for nobody where kernel.kptr_restrict is 2. Of several functions of one name the
// first stands for all: its address has that name.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ctprof/host.hpp"

namespace ctprof::sleepers {

class KernelNames {
 public:
  static bool tell_addresses(const sdk::Host& host);
  // Reads them. Throws std::runtime_error where they cannot be read.
  explicit KernelNames(const sdk::Host& host);

  // The addresses in a text as that file has it, leaf first; a frame that has no address is left
  // out. "[<0>] do_sys_poll+0x1a/0x40 [module]"
  void find(std::string_view stack, std::vector<std::uint64_t>& addresses) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };
  std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> addresses_;
};

}  // namespace ctprof::sleepers

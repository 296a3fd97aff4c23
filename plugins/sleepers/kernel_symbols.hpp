// Looks up addresses of kernel functions by name, because /proc/PID/task/TID/stack has no
// addresses.
//
// Source: /proc/kallsyms, read once, which takes some tens of milliseconds. It shows addresses only
// with CAP_SYSLOG, and never if kernel.kptr_restrict is 2. Of several functions with the same name
// the first represents all, because its address has that name.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ctprof/host.hpp"

namespace ctprof::sleepers {

class KernelSymbols {
 public:
  static bool shows_addresses(const sdk::Host& host);
  // Reads the symbols. Throws std::runtime_error if they cannot be read.
  explicit KernelSymbols(const sdk::Host& host);

  // Appends the addresses in a text with the format of that file, leaf first; frames without an
  // address are skipped. "[<0>] do_sys_poll+0x1a/0x40 [module]"
  void find_addresses(std::string_view stack, std::vector<std::uint64_t>& addresses) const;

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

// Being told what the finder is about to do that may never end, so that whoever waits for it knows
// what it hangs on.

#pragma once

#include <cstdint>

namespace ctprof::jemalloc {

enum class Deed : std::uint32_t {
  Nothing,
  Mappings,  // the list of them: another thread of the process may hold them for ever
  Walk,      // from directory to directory of a path, over any mount
  File,      // opening or reading one of `device`
  Memory,    // of the process, at `address`
};

struct Ahead {
  Deed deed = Deed::Nothing;
  std::uint64_t device = 0;  // as makedev(3) puts it together
  std::uint64_t address = 0;
};

class Watch {
 public:
  virtual ~Watch() = default;
  // Called before each such step. False: it is to be left out.
  virtual bool allows(const Ahead& step) = 0;
};

}  // namespace ctprof::jemalloc

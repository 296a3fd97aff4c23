// Does without the effective capabilities of the calling thread while an object exists.
//
//   const LoweredRights lowered;
//   if (lowered) fd = ::open(path, O_RDONLY);   // what the user may open
//
// Other threads keep theirs.
//
// Threads: the object is used and destroyed by the thread that made it.

#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace ctprof {

// The words of a set of capabilities, as capget(2) has them.
using CapabilityWords = std::array<std::uint32_t, 2>;

// The effective capabilities of the calling thread; nothing if they cannot be read.
std::optional<CapabilityWords> effective_capabilities();
// Sets them. False, and nothing is changed, if one of them is not permitted.
bool set_effective_capabilities(const CapabilityWords& words);

class LoweredRights {
 public:
  // Lowers them if `lowers`. Otherwise the object does nothing.
  explicit LoweredRights(bool lowers = true);
  // Raises them again.
  ~LoweredRights();
  LoweredRights(const LoweredRights&) = delete;
  LoweredRights& operator=(const LoweredRights&) = delete;

  // False if they could not be lowered.
  explicit operator bool() const { return is_as_wanted_; }

 private:
  std::optional<CapabilityWords> lowered_;  // what they were
  bool is_as_wanted_ = true;
};

}  // namespace ctprof

// Does without the effective capabilities of the calling thread while an object exists.
//
//   const LoweredRights lowered;
//   if (lowered) fd = ::open(path, O_RDONLY);   // what the user may open
//
// Other threads keep theirs.
//
// Threads: the object is used and destroyed by the thread that made it.

#pragma once

#include <cstdint>

namespace ctprof {

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
  std::uint32_t effective_[2] = {};
  bool is_lowered_ = false;
  bool is_as_wanted_ = true;
};

}  // namespace ctprof

// Drops the effective capabilities of the calling thread while an object exists.
//
//   const DroppedCapabilities dropped;
//   if (dropped) fd = ::open(path, O_RDONLY);   // with the rights of the user
//
// Other threads keep theirs.
//
// Threads: the creating thread must use and destroy the object.

#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace ctprof {

// A set of capabilities, in the format of capget(2).
using CapabilityWords = std::array<std::uint32_t, 2>;

// Returns the effective capabilities of the calling thread; nullopt if they cannot be read.
std::optional<CapabilityWords> effective_capabilities();
// Sets the effective capabilities of the calling thread. Returns false and changes nothing if one
// of them is not permitted.
bool set_effective_capabilities(const CapabilityWords& words);

// Drops all capabilities of the calling thread permanently. Returns false if that failed.
bool drop_all_capabilities();

class DroppedCapabilities {
 public:
  // Drops the capabilities if `is_enabled`. Otherwise the object does nothing.
  explicit DroppedCapabilities(bool is_enabled = true);
  // Restores the capabilities.
  ~DroppedCapabilities();
  DroppedCapabilities(const DroppedCapabilities&) = delete;
  DroppedCapabilities& operator=(const DroppedCapabilities&) = delete;

  // Returns false if the capabilities could not be dropped.
  explicit operator bool() const { return is_successful_; }

 private:
  std::optional<CapabilityWords> previous_;  // the previous set
  bool is_successful_ = true;
};

}  // namespace ctprof

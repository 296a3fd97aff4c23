// Writes a message for the user into a buffer of ctprof.
//
//   sdk::write_message(message, message_size, "rings have 128 KiB; stacks are copied");
//
// The size of such a buffer depends on the version of ctprof. A message that does not fit ends
// after a whole clause, and shows that it was cut:
//
//   rings have 128 KiB; (message cut)
//
// The functions of the C++ layer (Records::remark, exceptions of sources) already use it. Call it
// only from functions of your own that fill a message of the ABI.

#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace ctprof::sdk {

// The end of a message that was cut.
inline constexpr std::string_view kCutMessageEnd = " (message cut)";

// Returns the length of the beginning of a message to keep, at most `size` bytes: up to the last
// end of a clause, that is after ";", "," or ":"; without one, up to the last space; without a
// space, `size`. REQUIRES: size < message.size().
inline std::size_t find_message_cut(std::string_view message, std::size_t size) {
  const std::string_view kept = message.substr(0, size + 1);  // a space may follow the last byte
  for (const std::string_view separator : {"; ", ", ", ": "})
    if (const std::size_t end = kept.rfind(separator); end != kept.npos) return end + 1;
  const std::size_t space = kept.rfind(' ');
  return space == kept.npos ? size : space;
}

// Writes a message into a buffer of `size` bytes, followed by a NUL. Writes nothing if `size` is 0.
inline void write_message(char* buffer, std::size_t size, std::string_view message) {
  if (size == 0) return;
  const std::size_t capacity = size - 1;
  std::string_view end;
  if (message.size() > capacity) {
    end = kCutMessageEnd.substr(0, capacity);
    message = message.substr(0, find_message_cut(message, capacity - end.size()));
  }
  *std::ranges::copy(end, std::ranges::copy(message, buffer).out).out = 0;
}

}  // namespace ctprof::sdk

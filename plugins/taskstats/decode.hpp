// A netlink message from the kernel, taken apart: whose answer it is, and the struct in it or the
// error instead.
//
// Bytes come from a socket and are believed no further than their lengths allow. The struct begins
// 4 bytes off an 8-byte boundary, so that its fields are copied out.
//
// What is here:   messages as bytes, fields as readings.
// What is not:    sending and receiving (socket.hpp), offsets (layout.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ctprof/batch.hpp"
#include "plugins/taskstats/layout.hpp"

namespace ctprof::taskstats {

using Bytes = std::span<const std::byte>;

// What came for one request. With an error there are no bytes of a struct, and the other way round.
struct Answer {
  std::uint32_t sequence = 0;
  std::uint32_t tid = 0;  // that the answer is about; 0 with an error
  int error =
      0;  // an errno; EBADMSG for a message that is none, EMSGSIZE for one that is cut short
  Bytes stats{};  // into the message
};

// Takes one datagram apart; `family` is the number of generic netlink that answers must have.
Answer parse_answer(Bytes message, std::uint16_t family);

// The version that a struct states; 0 when it is too short to state one.
std::uint16_t version_of(Bytes stats);

// The field, or Unsupported when this version, or what came of it, has none.
sdk::Reading<std::uint64_t> read_field(Bytes stats, const Layout& layout, Field field);

}  // namespace ctprof::taskstats

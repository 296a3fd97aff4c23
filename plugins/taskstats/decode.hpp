// A netlink message from the kernel, taken apart: whose answer it is, and the struct in it or the
// error instead.
//
// Lengths in the bytes are checked before they are believed. The struct begins 4 bytes off an
// 8-byte boundary, so its fields are copied out.
//
// What is here:   messages as bytes, fields as readings, what an error means for the cells.
// What is not:    sending and receiving (socket.hpp), offsets (layout.hpp).

#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ctprof/batch.hpp"
#include "ctprof/gap.hpp"
#include "plugins/taskstats/layout.hpp"

namespace ctprof::taskstats {

using Bytes = std::span<const std::byte>;

// What came for one request: an error, or the bytes of a struct.
struct Answer {
  std::uint32_t sequence = 0;
  std::uint32_t tid = 0;  // that the answer is about; 0 with an error
  // An errno; EBADMSG for what is not a message, EMSGSIZE for a message that is cut short.
  int error = 0;
  Bytes stats{};  // into the message
};

// Takes one datagram apart; `family` is the number of generic netlink that answers must have.
Answer parse_answer(Bytes message, std::uint16_t family);

// The version that a struct states; 0 when it is too short to hold one.
std::uint16_t version_of(Bytes stats);

// The field, or Unsupported when this version does not have it, or the struct is cut short of it.
sdk::Reading<std::uint64_t> read_field(Bytes stats, const Layout& layout, Field field);

// What an error means for the cells of the thread.
constexpr Gap gap_of_answer(int error) {
  switch (error) {
    case EPERM: return Gap::Denied;
    case ESRCH: return Gap::ThreadGone;
    case EBADMSG: return Gap::Malformed;
    case EAGAIN:
    case ENOBUFS:
    case ENOMEM:
    case ETIMEDOUT: return Gap::Busy;
    default: return Gap::SourceFailed;
  }
}

// Whether to ask for the thread once more, alone: the answer was lost, or found no room among
// others.
constexpr bool is_worth_asking_again(int error) {
  return gap_of_answer(error) == Gap::Busy || error == EMSGSIZE;
}

}  // namespace ctprof::taskstats

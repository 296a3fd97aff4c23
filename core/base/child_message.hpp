// Messages between a process and its child, over a socket pair of the type SOCK_SEQPACKET.
//
// See also: child_process.hpp (requests and answers), child_setup.hpp (the start of a child).

#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "ctprof/files.hpp"

namespace ctprof {

// Bytes and an optional descriptor.
struct ChildMessage {
  std::string bytes;
  sdk::Fd fd = sdk::Fd();
};

inline constexpr std::size_t kMaxMessageBytes = 64 << 10;  // a longer message is not sent

// Returns false if the message was not sent. Unless `waits` is true, a message that does not fit
// into the queue is not sent.
bool send_message(int socket, const ChildMessage& message, bool waits = true);
// Waits for a message. Returns none at the end of the connection.
std::optional<ChildMessage> receive_message(int socket);

}  // namespace ctprof

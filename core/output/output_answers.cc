#include "core/output/output_answers.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace ctprof {
namespace {

// Precedes each answer: the number of bytes that follow.
using AnswerSize = std::uint32_t;

}  // namespace

void send_answer(int fd, char kind, std::string_view text) {
  const std::string answer = kind + std::string(text.substr(0, kMaxAnswerBytes - 1));
  const auto size = static_cast<AnswerSize>(answer.size());
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  bytes += answer;
  for (std::string_view rest = bytes; !rest.empty();) {
    const ssize_t written = ::write(fd, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

AnswerPipe::AnswerPipe(sdk::Fd fd) : fd_(std::move(fd)) { ::fcntl(fd_.get(), F_SETFL, O_NONBLOCK); }

// Returns whether `bytes_` contains that many bytes, after reading those that have arrived.
bool AnswerPipe::fill(std::size_t size) {
  while (bytes_.size() < size) {
    const std::size_t known = bytes_.size();
    bytes_.resize(size);
    const ssize_t count = ::read(fd_.get(), bytes_.data() + known, size - known);
    const int error = errno;
    bytes_.resize(known + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count > 0 || (count < 0 && error == EINTR)) continue;
    has_ended_ = count == 0 || error != EAGAIN;
    return false;
  }
  return true;
}

std::optional<std::string> AnswerPipe::take() {
  AnswerSize size = 0;
  if (has_ended_ || !fill(sizeof size)) return std::nullopt;
  std::memcpy(&size, bytes_.data(), sizeof size);
  has_ended_ = size == 0 || size > kMaxAnswerBytes;
  if (has_ended_ || !fill(sizeof size + size)) return std::nullopt;
  return std::exchange(bytes_, {}).substr(sizeof size);
}

}  // namespace ctprof

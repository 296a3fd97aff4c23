#include "core/output/printed_lines.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace ctprof {
namespace {

// Reads per call of receive(), so that a process that prints without end delays nothing.
constexpr std::size_t kMaxReads = 32;

}  // namespace

PrintedLines::PrintedLines(sdk::Fd fd) : fd_(std::move(fd)) {
  ::fcntl(fd_.get(), F_SETFL, O_NONBLOCK);
}

void PrintedLines::receive() {
  std::array<char, 4096> bytes;
  for (std::size_t reads = 0; fd_ && reads < kMaxReads; ++reads) {
    const ssize_t count = ::read(fd_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return end();
    add_bytes({bytes.data(), static_cast<std::size_t>(count)});
  }
}

void PrintedLines::end() {
  fd_ = sdk::Fd();
  if (!line_.empty()) end_line();
}

void PrintedLines::add_bytes(std::string_view bytes) {
  while (!bytes.empty() && count_ <= kMaxLines) {
    const std::size_t size = std::min(bytes.find('\n'), bytes.size());
    line_ += bytes.substr(0, std::min(size, kMaxLineBytes - line_.size()));
    if (size < bytes.size()) end_line();
    bytes.remove_prefix(std::min(size + 1, bytes.size()));
  }
}

void PrintedLines::end_line() {
  if (count_ == kMaxLines) line_ = "more lines, which are not shown";
  if (count_ <= kMaxLines) lines_.push_back(std::exchange(line_, {}));
  ++count_;
}

}  // namespace ctprof

// The answers of the process of an output plugin: a pipe of messages (output_messages.hpp).
//
// The plugin runs in that process, and can write anything to the pipe at any time. A socket would
// let it pass descriptors to ctprof; to close some of them, such as a socket that lingers, takes as
// long as the plugin chooses. A pipe passes only bytes.
//
//   AnswerPipe answers(std::move(read_end));
//   while (const auto answer = answers.take()) ...  // until it returns none
//   if (answers.has_ended()) ...
//
// Threads: one at a time.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "ctprof/files.hpp"

namespace ctprof {

inline constexpr std::size_t kMaxAnswerBytes = 32 << 10;  // a longer answer is truncated

// In the process of the plugin: sends an answer of this kind. Waits while the pipe is full.
void send_answer(int fd, char kind, std::string_view text);

class AnswerPipe {
 public:
  AnswerPipe() = default;
  // `fd`: the end of the pipe to read from.
  explicit AnswerPipe(sdk::Fd fd);

  // For poll(2); -1: none.
  int descriptor() const { return fd_.get(); }
  // Returns the next answer, with its kind, if all its bytes have arrived. Does not wait.
  std::optional<std::string> take();
  // Returns whether take() found the end of the pipe, or bytes that are no answer.
  bool has_ended() const { return has_ended_; }

 private:
  bool fill(std::size_t size);

  sdk::Fd fd_;
  std::string bytes_;  // of an answer that has not arrived completely
  bool has_ended_ = false;
};

}  // namespace ctprof

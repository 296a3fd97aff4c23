#include "core/output/output_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "core/base/child_message.hpp"
#include "core/base/child_setup.hpp"
#include "core/base/text.hpp"
#include "core/output/output_child.hpp"
#include "core/output/window_bytes.hpp"

namespace ctprof {
namespace {

using Clock = std::chrono::steady_clock;

// While the plugin loads and opens.
constexpr std::chrono::seconds kOpenTimeout{5};
// The time for a killed process to exit. A process that waits for a file system takes longer, and
// is abandoned.
constexpr std::chrono::milliseconds kExitTimeout{50};

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX));
}

// Returns a file in memory, or an invalid descriptor.
sdk::Fd make_memory_file(std::string_view bytes) {
  sdk::Fd file(::memfd_create("ctprof-window", MFD_CLOEXEC));
  while (file && !bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return sdk::Fd();
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return file;
}

std::string describe_status(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "status " + std::to_string(WEXITSTATUS(status));
}

// Removes the settings that name variables of the environment, and returns the names.
std::vector<std::string> take_named_variables(std::vector<OutputSetting>& settings) {
  std::vector<std::string> names;
  std::erase_if(settings, [&](const OutputSetting& setting) {
    if (setting.key != kEnvironmentKey) return false;
    for (const std::string_view name : split(setting.value)) names.emplace_back(name);
    return true;
  });
  return names;
}

// Kills the process and those that the plugin started, unless they left its group.
void kill_group(int process) {
  ::kill(process, SIGKILL);
  ::kill(-process, SIGKILL);
}

}  // namespace

OutputProcess::OutputProcess(OutputProcess&& other) noexcept
    : name_(std::move(other.name_)),
      path_(std::move(other.path_)),
      description_(std::move(other.description_)),
      counts_(other.counts_),
      dropped_before_(other.dropped_before_),
      messages_(std::move(other.messages_)),
      last_message_(std::move(other.last_message_)),
      first_error_(std::move(other.first_error_)),
      socket_(std::move(other.socket_)),
      answers_(std::move(other.answers_)),
      printed_(std::move(other.printed_)),
      process_(std::exchange(other.process_, 0)),
      is_finishing_(other.is_finishing_) {}

Result<OutputProcess> OutputProcess::start(OutputFile file, OutputProcessOptions options) {
  OutputProcess output(options.name, file.path);
  CTPROF_TRY(output.fork_child(std::move(file), std::move(options)));
  CTPROF_TRY(output.wait_until_ready());
  return output;
}

// Descriptors pass through the socket only to the child: the other direction is closed before the
// child exists.
Result<void> OutputProcess::fork_child(OutputFile file, OutputProcessOptions options) {
  std::array<int, 2> sockets{}, pipe{}, printed{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    return errno_error("starting output", name_, errno);
  socket_.reset(sockets[0]);
  const sdk::Fd child_socket(sockets[1]);
  if (::shutdown(socket_.get(), SHUT_RD) != 0 || ::pipe2(pipe.data(), O_CLOEXEC) != 0)
    return errno_error("starting output", name_, errno);
  answers_ = AnswerPipe(sdk::Fd(pipe[0]));
  const sdk::Fd child_answers(pipe[1]);
  if (::pipe2(printed.data(), O_CLOEXEC) != 0) return errno_error("starting output", name_, errno);
  printed_ = PrintedLines(sdk::Fd(printed[0]));
  const sdk::Fd child_printed(printed[1]);
  auto environment = keep_harmless_variables(environ, take_named_variables(options.settings));
  const OutputStart start{name_, options.opens, std::move(options.settings)};
  if (!send_message(socket_.get(), {encode_start(start), std::move(file.fd)}, false))
    return error("starting output", name_, "its settings are too long");
  process_ = ::fork();
  if (process_ == 0)
    start_output_child(
        {child_socket.get(), child_answers.get(), child_printed.get(), options.bytes_fd},
        std::move(environment));
  if (process_ > 0) return {};
  socket_ = sdk::Fd();
  return errno_error("starting output", name_, errno);
}

// Waits until the process sends or prints something, or closes its side. Receives what it prints.
// Returns false after the deadline, also if the process prints without end.
bool OutputProcess::wait_for_process(Clock::time_point deadline) {
  std::array<pollfd, 2> descriptors{pollfd{answers_.descriptor(), POLLIN, 0},
                                    pollfd{printed_.descriptor(), POLLIN, 0}};
  int ready = 0;
  do ready = ::poll(descriptors.data(), descriptors.size(), milliseconds_until(deadline));
  while (ready < 0 && errno == EINTR);
  if (descriptors[1].revents != 0) printed_.receive();
  return descriptors[0].revents != 0 || (ready != 0 && Clock::now() < deadline);
}

// Adds the last line that the process printed, such as the reason why a program cannot start.
Result<void> OutputProcess::start_error(const std::string& reason) {
  const std::vector<std::string> lines = take_printed_lines();
  return error(
      "starting output", name_,
      "'" + path_ + "': " + reason + (lines.empty() ? "" : "; it printed " + quote(lines.back())));
}

Result<void> OutputProcess::wait_until_ready() {
  const auto deadline = Clock::now() + kOpenTimeout;
  auto answer = answers_.take();
  for (; !answer && !answers_.has_ended(); answer = answers_.take())
    if (!wait_for_process(deadline))
      return start_error("it did not open within " + std::to_string(kOpenTimeout.count()) + " s");
  if (answer && answer->front() == kOutputReady) {
    description_ = decode_description(std::string_view(*answer).substr(1));
    return {};
  }
  if (answer) return start_error(answer->substr(1));
  note_exit();
  return start_error(messages_.back());
}

std::vector<std::string> OutputProcess::take_printed_lines() {
  printed_.receive();
  return printed_.take();
}

void OutputProcess::add_message(const std::string& text) {
  if (first_error_.empty()) first_error_ = text;
  if (text == last_message_) return;
  last_message_ = text;
  messages_.push_back(text);
}

std::vector<std::string> OutputProcess::take_messages() {
  if (socket_) receive_answers();
  return std::exchange(messages_, {});
}

// Returns whether the process may send an answer of this kind now.
bool OutputProcess::is_expected(char kind) const {
  switch (kind) {
    case kOutputDelivered:
    case kOutputFailed: return queued() > 0;
    case kOutputClosed: return is_finishing_ && queued() == 0;
    default: return kind == kOutputRefused;
  }
}

void OutputProcess::take_answer(std::string_view answer) {
  const char kind = answer.front();
  const std::string text(answer.substr(1));
  if (!is_expected(kind)) return end_early("its process sends answers that were not requested");
  switch (kind) {
    case kOutputDelivered:
      ++counts_.delivered;
      last_message_.clear();
      break;
    case kOutputFailed:
      ++counts_.failed;
      add_message(text);
      break;
    case kOutputClosed:
      if (!text.empty()) add_message(text);
      end_process();
      break;
    default: end_early(text);
  }
}

// Does not wait, and ends after the requested answers however many the process sends.
void OutputProcess::receive_answers() {
  while (socket_) {
    if (const auto answer = answers_.take())
      take_answer(*answer);
    else if (answers_.has_ended())
      note_exit();
    else
      return;
  }
}

void OutputProcess::end_early(const std::string& reason) {
  counts_.lost = queued();
  add_message(reason);
  end_process();
}

// The process has closed its side, so it exits, or has exited. The signal has no effect on a
// process that exits, and ends one that only closed its descriptors.
void OutputProcess::note_exit() {
  int status = 0;
  bool has_exited = false;
  kill_group(process_);
  const auto deadline = Clock::now() + kExitTimeout;
  while (!has_exited && Clock::now() < deadline) {
    has_exited = ::waitpid(process_, &status, WNOHANG) == process_;
    if (!has_exited) ::poll(nullptr, 0, 1);
  }
  if (has_exited) process_ = 0;
  end_early("its process ended" + (has_exited ? " with " + describe_status(status) : ""));
}

// A process that waits for a file system may not even be killable, and is not waited for.
void OutputProcess::end_process() {
  socket_ = sdk::Fd();
  answers_ = AnswerPipe();
  printed_.receive();
  printed_.end();
  if (process_ <= 0) return;
  kill_group(process_);
  reap_later(std::exchange(process_, 0));
}

bool OutputProcess::pass(OutputWindow window) {
  if (socket_) receive_answers();
  window.dropped_before = dropped_before_;
  bool is_passed = false;
  if (socket_ && queued() < kMaxQueuedWindows) {
    const std::string bytes = encode_window(window);
    if (bytes.size() <= kMaxWindowBytes)
      if (auto file = make_memory_file(bytes))
        is_passed = send_message(socket_.get(), {"", std::move(file)}, false);
  }
  is_passed ? ++counts_.passed : ++counts_.dropped;
  dropped_before_ = is_passed ? 0 : dropped_before_ + 1;
  return is_passed;
}

Result<void> OutputProcess::wait_until_closed(std::chrono::milliseconds patience,
                                              const ByteReader& reader) {
  std::array<char, 64 << 10> bytes;
  bool has_bytes = reader.fd >= 0;
  auto deadline = Clock::now() + patience;
  while (socket_ || has_bytes) {
    std::array<pollfd, 3> descriptors{pollfd{answers_.descriptor(), POLLIN, 0},
                                      pollfd{has_bytes ? reader.fd : -1, POLLIN, 0},
                                      pollfd{printed_.descriptor(), POLLIN, 0}};
    const int ready = ::poll(descriptors.data(), descriptors.size(), milliseconds_until(deadline));
    const bool only_prints = descriptors[0].revents == 0 && descriptors[1].revents == 0;
    if (ready == 0 || (only_prints && Clock::now() >= deadline))
      return Error{"it did not take its windows within " + std::to_string(patience.count() / 1000) +
                   " s"};
    if (ready < 0) continue;
    if (descriptors[1].revents != 0) {
      const ssize_t size = ::read(reader.fd, bytes.data(), bytes.size());
      has_bytes = size > 0 || (size < 0 && errno == EINTR);
      if (size > 0) deadline = Clock::now() + patience;
      if (size > 0) CTPROF_TRY(reader.take({bytes.data(), static_cast<std::size_t>(size)}));
    }
    if (descriptors[2].revents != 0) printed_.receive();
    if (descriptors[0].revents != 0) receive_answers();
  }
  return {};
}

Result<void> OutputProcess::finish(std::chrono::milliseconds patience, const ByteReader& reader) {
  is_finishing_ = true;
  if (socket_) ::shutdown(socket_.get(), SHUT_WR);
  const auto waited = wait_until_closed(patience, reader);
  if (!waited) {
    counts_.lost = queued();
    add_message(waited.error().text);
  }
  end_process();
  return first_error_.empty() ? Result<void>() : Error{first_error_};
}

}  // namespace ctprof

#include "core/output/output_child.hpp"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/child_message.hpp"
#include "core/base/child_setup.hpp"
#include "core/base/dropped_capabilities.hpp"
#include "core/output/output_answers.hpp"
#include "core/output/output_library.hpp"
#include "core/output/window_bytes.hpp"
#include "core/output/window_view.hpp"

namespace ctprof {
namespace {

constexpr ::uid_t kNobody = 65534;

// Writes all bytes to the descriptor that `core` points to.
int32_t write_bytes(void* core, const char* bytes, std::size_t size) {
  const int fd = *static_cast<const int*>(core);
  while (size > 0) {
    const ssize_t written = ::write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return -1;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return 0;
}

// Signals have their default actions and are not blocked, except that the terminal's interrupt and
// a closed pipe do not end the process: ctprof ends it.
void reset_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  for (const int number : {SIGINT, SIGQUIT, SIGPIPE, SIGTTOU}) ::signal(number, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void forbid_core_files() {
  const ::rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

// Opens a terminal or pipe a second time, for writing only. So the plugin cannot read what the user
// types, and the flags that it sets do not apply to ctprof. Otherwise, or if the user may not open
// it, the descriptor remains as it is.
void reopen_for_writing(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !(S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode))) return;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const sdk::Fd own(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!own || ::fcntl(own.get(), F_SETFL, 0) != 0) return;
  ::dup3(own.get(), fd, fd > STDERR_FILENO ? O_CLOEXEC : 0);
}

// Drops all privileges permanently: the plugin can acquire none by any program that it starts.
// Changing the user clears the parent death signal, so it is set afterwards.
Result<void> drop_all_privileges() {
  if (::geteuid() == 0 &&
      (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
       ::setresuid(kNobody, kNobody, kNobody) != 0))
    return errno_error("becoming user", std::to_string(kNobody), errno);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return errno_error("dropping", "privileges", errno);
  if (!drop_all_capabilities()) return errno_error("dropping", "capabilities", errno);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  confine_to_own_processes();
  return {};
}

// Programs that the plugin starts receive only the standard descriptors.
void prepare_descriptors(std::vector<int> kept_descriptors, int bytes_fd) {
  for (const int fd : kept_descriptors) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  if (bytes_fd >= 0) reopen_for_writing(bytes_fd);
  kept_descriptors.insert(kept_descriptors.end(), {STDOUT_FILENO, STDERR_FILENO});
  close_all_except(std::move(kept_descriptors));
  fill_standard_descriptors();
}

// Loads the file through its descriptor. The settings can be secret, so other processes of its user
// must never read the memory of the process.
Result<OutputLibrary> load_library(const sdk::Fd& file, const OutputStart& start) {
  ::prctl(PR_SET_DUMPABLE, 0);
  return OutputLibrary::load("/proc/self/fd/" + std::to_string(file.get()), start.name,
                             start.settings);
}

std::optional<OutputWindow> read_window(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || status.st_size <= 0) return std::nullopt;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (memory == MAP_FAILED) return std::nullopt;
  auto window = decode_window({static_cast<const char*>(memory), size});
  ::munmap(memory, size);
  return window;
}

Result<void> put_window(OutputLibrary& library, const ChildMessage& message) {
  const auto window = read_window(message.fd.get());
  if (!window) return Error{"the window cannot be read"};
  return library.put(WindowView(*window).get());
}

std::string error_text_of(const Result<void>& result) {
  return result ? std::string() : result.error().text;
}

// Passes windows to the plugin until ctprof closes its side.
void serve(const OutputConnection& connection, OutputLibrary& library) {
  while (const auto message = receive_message(connection.windows)) {
    const auto delivered = put_window(library, *message);
    send_answer(connection.answers, delivered ? kOutputDelivered : kOutputFailed,
                error_text_of(delivered));
  }
  send_answer(connection.answers, kOutputClosed, error_text_of(library.close()));
}

Result<OutputLibrary> prepare(const OutputConnection& connection, const sdk::Fd& file,
                              const OutputStart& start) {
  ::prctl(PR_SET_NAME, "ctprof");  // otherwise that of the link by which the program was started
  reset_signals();
  forbid_core_files();
  leave_session();
  std::vector<int> kept{connection.windows, connection.answers, file.get()};
  if (connection.bytes >= 0) kept.push_back(connection.bytes);
  prepare_descriptors(std::move(kept), connection.bytes);
  CTPROF_TRY(drop_all_privileges());
  return load_library(file, start);
}

void run(OutputConnection connection, const sdk::Fd& file, const OutputStart& start) {
  const int answers = connection.answers;
  auto library = prepare(connection, file, start);
  if (!library) return send_answer(answers, kOutputRefused, library.error().text);
  if (start.opens)
    if (const auto opened = library->open(&connection.bytes, &write_bytes); !opened)
      return send_answer(answers, kOutputRefused, opened.error().text);
  send_answer(answers, kOutputReady, encode_description(library->description()));
  if (start.opens) serve(connection, *library);
}

// The numbers of the descriptors when the program starts.
constexpr OutputConnection kStartConnection{.windows = STDERR_FILENO + 1,
                                            .answers = STDERR_FILENO + 2,
                                            .printed = STDERR_FILENO,
                                            .bytes = STDERR_FILENO + 3};

// Gives the descriptors these numbers, and closes all others. They remain open in the program that
// is started.
bool number_descriptors(const std::vector<std::pair<int, int>>& numbers) {
  int first_free = 0;
  for (const auto& [fd, number] : numbers) first_free = std::max({first_free, fd + 1, number + 1});
  std::vector<int> kept, copies;
  for (const auto& [fd, number] : numbers) copies.push_back(::fcntl(fd, F_DUPFD, first_free));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (::dup2(copies[i], numbers[i].second) < 0) return false;
    kept.push_back(numbers[i].second);
  }
  close_all_except(std::move(kept));
  return true;
}

bool is_socket(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

}  // namespace

void start_output_child(const OutputConnection& connection, std::vector<std::string> environment) {
  std::vector<std::pair<int, int>> numbers{{connection.windows, kStartConnection.windows},
                                           {connection.answers, kStartConnection.answers},
                                           {connection.printed, STDOUT_FILENO},
                                           {connection.printed, STDERR_FILENO}};
  if (connection.bytes >= 0) numbers.emplace_back(connection.bytes, kStartConnection.bytes);
  const int answers = number_descriptors(numbers) ? kStartConnection.answers : connection.answers;
  if (answers == kStartConnection.answers)
    start_again({"ctprof", kOutputChildWord}, std::move(environment));
  send_answer(answers, kOutputRefused, errno_error("starting", "/proc/self/exe", errno).text);
  ::_exit(0);
}

void run_output_child() {
  if (!is_socket(kStartConnection.windows)) return;
  OutputConnection connection = kStartConnection;
  if (::fcntl(connection.bytes, F_GETFD) < 0) connection.bytes = -1;
  fill_standard_descriptors();  // otherwise the file of the plugin becomes standard input
  try {
    auto start = receive_message(connection.windows);
    if (!start) ::_exit(0);
    run(connection, start->fd, decode_start(start->bytes));
  } catch (const std::exception& exception) {
    send_answer(connection.answers, kOutputRefused, std::string("it throws: ") + exception.what());
  } catch (...) {
    send_answer(connection.answers, kOutputRefused, "it throws an exception without a message");
  }
  ::_exit(0);
}

}  // namespace ctprof

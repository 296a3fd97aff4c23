#include "core/output/output_child.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>

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

// Leaves the session of ctprof: the process has no terminal in which it could type commands, and no
// keys of the session. Processes that the plugin starts belong to the new group of this process.
void leave_session() {
  ::setsid();
  ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
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
  return {};
}

// Standard output of the plugin is standard error; the bytes that it writes have a descriptor of
// their own.
void prepare_descriptors(const std::vector<int>& kept_descriptors, int bytes_fd) {
  reopen_for_writing(STDERR_FILENO);
  if (bytes_fd >= 0) reopen_for_writing(bytes_fd);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::close(STDIN_FILENO);
  std::vector<int> all_kept = kept_descriptors;
  all_kept.insert(all_kept.end(), {STDOUT_FILENO, STDERR_FILENO});
  close_all_except(all_kept);
  fill_standard_descriptors();
}

// Loads the file through its descriptor. The process is a copy of ctprof, so other processes of its
// user must never read its memory.
Result<OutputLibrary> load_library(const OutputFile& file, const OutputChildOptions& options) {
  ::prctl(PR_SET_DUMPABLE, 0);
  return OutputLibrary::load("/proc/self/fd/" + std::to_string(file.fd.get()), options.name,
                             options.settings);
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

Result<OutputLibrary> prepare(const OutputConnection& connection, const OutputFile& file,
                              const OutputChildOptions& options) {
  reset_signals();
  forbid_core_files();
  leave_session();
  std::vector<int> kept{connection.windows, connection.answers, file.fd.get()};
  if (options.bytes_fd >= 0) kept.push_back(options.bytes_fd);
  prepare_descriptors(kept, options.bytes_fd);
  CTPROF_TRY(drop_all_privileges());
  return load_library(file, options);
}

void run(const OutputConnection& connection, const OutputFile& file,
         const OutputChildOptions& options) {
  const int answers = connection.answers;
  auto library = prepare(connection, file, options);
  if (!library) return send_answer(answers, kOutputRefused, library.error().text);
  int bytes_fd = options.bytes_fd;
  if (options.opens)
    if (const auto opened = library->open(&bytes_fd, &write_bytes); !opened)
      return send_answer(answers, kOutputRefused, opened.error().text);
  send_answer(answers, kOutputReady, encode_description(library->description()));
  if (options.opens) serve(connection, *library);
}

}  // namespace

void run_output_child(const OutputConnection& connection, const OutputFile& file,
                      const OutputChildOptions& options) {
  try {
    run(connection, file, options);
  } catch (const std::exception& exception) {
    send_answer(connection.answers, kOutputRefused, std::string("it throws: ") + exception.what());
  } catch (...) {
    send_answer(connection.answers, kOutputRefused, "it throws an exception without a message");
  }
  ::_exit(0);
}

}  // namespace ctprof

#include "tools/ctprof/runtime/python.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <thread>
#include <utility>

#include "build_info.hpp"
#include "core/registry/loader.hpp"
#include "core/registry/plugin_directory.hpp"
#include "ctprof/files.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/signals.hpp"

namespace ctprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPython = "python3";
// Exits with status 1 if DuckDB is missing. Removes the empty entry from sys.path, because it is
// the working directory, whose files must not be imported.
constexpr const char* kDuckDbCheck =
    "import sys\n"
    "sys.path = [p for p in sys.path if p]\n"
    "import importlib.util\n"
    "sys.exit(importlib.util.find_spec('duckdb') is None)\n";
// Installs into a virtual environment, because pip does not modify a system Python.
constexpr const char* kDuckDbInstallHint =
    "python3 -m venv ~/duckdb && ~/duckdb/bin/pip install duckdb && export "
    "PATH=~/duckdb/bin:$PATH";

// Removes empty and relative entries from PYTHONPATH, because other users may control the files
// there. PYTHONPATH=$PYTHONPATH:/lib begins with an empty entry, the working directory, if it was
// unset.
void remove_relative_python_paths() {
  const char* python_path = std::getenv("PYTHONPATH");
  if (!python_path) return;
  std::string absolute_paths;
  for (std::string_view rest = python_path; !rest.empty();)
    if (const std::string_view entry = sdk::take(rest, ':'); entry.starts_with('/'))
      absolute_paths += (absolute_paths.empty() ? "" : ":") + std::string(entry);
  absolute_paths.empty() ? ::unsetenv("PYTHONPATH")
                         : ::setenv("PYTHONPATH", absolute_paths.c_str(), 1);
}

Error missing_python_error() {
  return {
      "this command needs Python, but PATH has no python3; install it (on Debian: apt-get install "
      "python3-venv), and DuckDB: " +
      std::string(kDuckDbInstallHint)};
}

Error missing_duckdb_error() {
  return {"this command needs DuckDB, which python3 does not have; install it: " +
          std::string(kDuckDbInstallHint) + " (on Debian: apt-get install python3-venv first)"};
}

// Blocks signals while it exists, so that they can be forwarded to Python. Also blocks SIGPIPE, so
// that writing to a closed pipe returns EPIPE.
class ForwardedSignals {
 public:
  ForwardedSignals() {
    const sigset_t forwarded = signal_set({SIGINT, SIGQUIT, SIGTERM, SIGHUP});
    sigset_t blocked = forwarded;
    ::sigaddset(&blocked, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &old_mask_);
    fd_ = sdk::Fd(::signalfd(-1, &forwarded, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~ForwardedSignals() {
    const sigset_t pipe = signal_set({SIGPIPE});
    const timespec now{};
    while (::sigtimedwait(&pipe, nullptr, &now) > 0) continue;
    ::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
  }
  ForwardedSignals(const ForwardedSignals&) = delete;
  ForwardedSignals& operator=(const ForwardedSignals&) = delete;

  int fd() const { return fd_.get(); }
  const sigset_t& old_mask() const { return old_mask_; }

  // Forwards signals. Skips those of the terminal, which the process has received itself.
  void forward(pid_t pid) const {
    signalfd_siginfo info;
    while (::read(fd_.get(), &info, sizeof info) == sizeof info)
      if (info.ssi_code != SI_KERNEL) ::kill(pid, static_cast<int>(info.ssi_signo));
  }

 private:
  sigset_t old_mask_;
  sdk::Fd fd_;
};

// Starts python3 with these arguments. `input` and `output` replace its standard streams if they
// are valid descriptors.
Result<pid_t> start_python(std::vector<std::string> words, int input, int output,
                           const sigset_t& signals) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  if (input >= 0) ::posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  if (output >= 0) ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &signals);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, kPython, &files, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (failed == ENOENT) return missing_python_error();
  if (failed != 0) return errno_error("running", kPython, failed);
  return pid;
}

int wait_for_status(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Result<void> check_duckdb() {
  const ForwardedSignals signals;
  CTPROF_TRY_VALUE(const auto pid, start_python({kPython, "-B", "-c", kDuckDbCheck}, -1,
                                                STDERR_FILENO, signals.old_mask()));
  if (wait_for_status(pid) == 1) return missing_duckdb_error();
  return {};
}

// Forwards signals to a process until it is destroyed, after the process has exited.
class SignalForwarder {
 public:
  SignalForwarder(const ForwardedSignals& signals, pid_t pid)
      : stop_event_(::eventfd(0, EFD_CLOEXEC)),
        thread_([this, &signals, pid] { run(signals, pid); }) {}
  ~SignalForwarder() {
    ::eventfd_write(stop_event_.get(), 1);
    thread_.join();
  }
  SignalForwarder(const SignalForwarder&) = delete;
  SignalForwarder& operator=(const SignalForwarder&) = delete;

 private:
  void run(const ForwardedSignals& signals, pid_t pid) const {
    pollfd poll_fds[] = {{signals.fd(), POLLIN, 0}, {stop_event_.get(), POLLIN, 0}};
    while (poll_fds[1].revents == 0) {
      if (::poll(poll_fds, 2, -1) < 0 && errno != EINTR) return;
      if (poll_fds[0].revents & POLLIN) signals.forward(pid);
    }
  }

  sdk::Fd stop_event_;
  std::thread thread_;
};

// Waits until the process exits. Does not reap it, so that its process id cannot be reused while
// signals are forwarded.
void wait_for_exit(pid_t pid) {
  siginfo_t info;
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
    continue;
}

class PipeSink final : public Sink {
 public:
  explicit PipeSink(int fd) : fd_(fd) {}
  Result<void> write(std::string_view text) override {
    const int failed = write_all(fd_, text);
    is_closed_ = failed == EPIPE;
    return failed == 0 ? Result<void>() : errno_error("writing to", kPython, failed);
  }
  // Whether the reader has closed the pipe.
  bool is_closed() const { return is_closed_; }

 private:
  int fd_;
  bool is_closed_ = false;
};

Result<void> feed_python(const PythonStreams& streams, sdk::Fd in, pid_t pid) {
  PipeSink sink(in.get());
  const auto feed_result = streams.feed(sink);
  if (feed_result || sink.is_closed()) return {};
  ::kill(pid, SIGKILL);  // before its input ends, because Python would accept partial input as
                         // complete
  return feed_result;
}

Result<int> run_python_words(std::vector<std::string> words, const PythonStreams& streams) {
  sdk::Fd out, in;
  int pipe[2];
  if (streams.feed) {
    if (::pipe2(pipe, O_CLOEXEC) != 0) return errno_error("making", "a pipe", errno);
    out = sdk::Fd(pipe[0]);
    in = sdk::Fd(pipe[1]);
  }
  const ForwardedSignals signals;
  const int output = streams.output >= 0 ? streams.output : output_fd();
  CTPROF_TRY_VALUE(const auto pid,
                   start_python(std::move(words), out.get(), output, signals.old_mask()));
  out.reset();
  Result<void> feed_result;
  {
    const SignalForwarder forwarder(signals, pid);
    if (streams.feed) feed_result = feed_python(streams, std::move(in), pid);
    wait_for_exit(pid);
  }
  const int status = wait_for_status(pid);
  if (!feed_result) return feed_result.error();
  return status;
}

}  // namespace

std::string python_package() {
  const fs::path program_path = program_directory();
  if (program_path.empty()) return {};
  std::error_code error;
  // A build tree contains a link to the sources beside the program.
  if (fs::exists(program_path / "../../build.ninja", error))
    return (program_path / "python_package").string();
  fs::path prefix = program_path;
  for (const fs::path& part : fs::path(CTPROF_BUILD_BIN_DIR))
    if (part != ".") prefix = prefix.parent_path();
  return (prefix / CTPROF_BUILD_DATA_DIR / "ctprof" / "fleet").string();
}

Result<void> find_python(const std::string& script) {
  if (runs_privileged())
    return Error{
        "this command needs Python, which a ctprof with file capabilities does not start; use a "
        "ctprof without them"};
  const std::string package = python_package();
  if (package.empty())
    return Error{"ctprof's Python package cannot be found without /proc (mount it)"};
  const std::string file = package + "/" + (script.empty() ? "__main__.py" : script);
  if (::access(file.c_str(), R_OK) != 0)
    return errno_error("looking for ctprof's Python package", file, errno);
  remove_relative_python_paths();
  // The package itself checks for DuckDB: another process would add a fifth to the time of a
  // ranking.
  return script.empty() ? Result<void>() : check_duckdb();
}

Result<int> run_python(std::vector<std::string> arguments, const PythonStreams& streams) {
  CTPROF_TRY(find_python(streams.script));
  const std::string package = python_package();
  std::vector<std::string> words{kPython, "-B"};
  // Without the `site` module, which the package loads only if necessary.
  if (streams.script.empty()) words.emplace_back("-S");
  words.push_back(streams.script.empty() ? package : package + "/" + streams.script);
  words.insert(words.end(), std::make_move_iterator(arguments.begin()),
               std::make_move_iterator(arguments.end()));
  return run_python_words(std::move(words), streams);
}

}  // namespace ctprof::cli

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
constexpr const char* kLooksForDuckDb =
    "import sys\n"
    "sys.path = [p for p in sys.path if p]\n"
    "import importlib.util\n"
    "sys.exit(importlib.util.find_spec('duckdb') is None)\n";
// Installs into a virtual environment, because pip does not modify a system Python.
constexpr const char* kGetDuckDb =
    "python3 -m venv ~/duckdb && ~/duckdb/bin/pip install duckdb && export "
    "PATH=~/duckdb/bin:$PATH";

// Removes empty and relative entries from PYTHONPATH, because other users may control the files
// there. PYTHONPATH=$PYTHONPATH:/lib begins with an empty entry, the working directory, if it was
// unset.
void forget_relative_paths() {
  const char* given = std::getenv("PYTHONPATH");
  if (!given) return;
  std::string kept;
  for (std::string_view rest = given; !rest.empty();)
    if (const std::string_view entry = sdk::take(rest, ':'); entry.starts_with('/'))
      kept += (kept.empty() ? "" : ":") + std::string(entry);
  kept.empty() ? ::unsetenv("PYTHONPATH") : ::setenv("PYTHONPATH", kept.c_str(), 1);
}

Error no_python() {
  return {
      "this requires Python, and PATH has no python3: install it (on Debian: apt-get install "
      "python3-venv), and its DuckDB: " +
      std::string(kGetDuckDb)};
}

Error no_duckdb() {
  return {"this command needs DuckDB, which python3 does not have: " + std::string(kGetDuckDb) +
          " (on Debian: apt-get install python3-venv first)"};
}

// Blocks signals while it exists, so that they can be forwarded to Python. Also blocks SIGPIPE, so
// that writing to a closed pipe returns EPIPE.
class PassedSignals {
 public:
  PassedSignals() {
    const sigset_t passed = signal_set({SIGINT, SIGQUIT, SIGTERM, SIGHUP});
    sigset_t held = passed;
    ::sigaddset(&held, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &held, &before_);
    fd_ = sdk::Fd(::signalfd(-1, &passed, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~PassedSignals() {
    const sigset_t pipe = signal_set({SIGPIPE});
    const timespec now{};
    while (::sigtimedwait(&pipe, nullptr, &now) > 0) continue;
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PassedSignals(const PassedSignals&) = delete;
  PassedSignals& operator=(const PassedSignals&) = delete;

  int fd() const { return fd_.get(); }
  const sigset_t& before() const { return before_; }

  // Forwards signals. Skips those of the terminal, which the process has received itself.
  void pass_on(pid_t pid) const {
    signalfd_siginfo info;
    while (::read(fd_.get(), &info, sizeof info) == sizeof info)
      if (info.ssi_code != SI_KERNEL) ::kill(pid, static_cast<int>(info.ssi_signo));
  }

 private:
  sigset_t before_;
  sdk::Fd fd_;
};

// Starts python3 with these arguments. `input` and `output` replace its standard streams if they
// are valid descriptors.
Result<pid_t> start(std::vector<std::string> words, int input, int output,
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
  if (failed == ENOENT) return no_python();
  if (failed != 0) return errno_error("running", kPython, failed);
  return pid;
}

int status_of(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Result<void> look_for_duckdb() {
  const PassedSignals signals;
  const auto pid =
      start({kPython, "-B", "-c", kLooksForDuckDb}, -1, STDERR_FILENO, signals.before());
  if (!pid) return pid.error();
  if (status_of(*pid) == 1) return no_duckdb();
  return {};
}

// Forwards signals to a process until it is destroyed, after the process has exited.
class Passing {
 public:
  Passing(const PassedSignals& signals, pid_t pid)
      : ended_(::eventfd(0, EFD_CLOEXEC)), thread_([this, &signals, pid] { run(signals, pid); }) {}
  ~Passing() {
    ::eventfd_write(ended_.get(), 1);
    thread_.join();
  }
  Passing(const Passing&) = delete;
  Passing& operator=(const Passing&) = delete;

 private:
  void run(const PassedSignals& signals, pid_t pid) const {
    pollfd looked_at[] = {{signals.fd(), POLLIN, 0}, {ended_.get(), POLLIN, 0}};
    while (looked_at[1].revents == 0) {
      if (::poll(looked_at, 2, -1) < 0 && errno != EINTR) return;
      if (looked_at[0].revents & POLLIN) signals.pass_on(pid);
    }
  }

  sdk::Fd ended_;
  std::thread thread_;
};

// Waits until the process exits. Does not reap it, so that its process id cannot be reused while
// signals are forwarded.
void wait_for_end(pid_t pid) {
  siginfo_t info;
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
    continue;
}

class PipeSink final : public Sink {
 public:
  explicit PipeSink(int fd) : fd_(fd) {}
  Result<void> write(std::string_view text) override {
    const int failed = write_all(fd_, text);
    is_gone_ = failed == EPIPE;
    return failed == 0 ? Result<void>() : errno_error("writing to", kPython, failed);
  }
  // Whether the reader has closed the pipe.
  bool is_gone() const { return is_gone_; }

 private:
  int fd_;
  bool is_gone_ = false;
};

Result<void> feed(const PythonEnds& ends, sdk::Fd in, pid_t pid) {
  PipeSink sink(in.get());
  const auto fed = ends.feed(sink);
  if (fed || sink.is_gone()) return {};
  ::kill(pid, SIGKILL);  // before its input ends, because Python would accept partial input as
                         // complete
  return fed;
}

Result<int> run_package(std::vector<std::string> words, const PythonEnds& ends) {
  sdk::Fd out, in;
  int pipe[2];
  if (ends.feed) {
    if (::pipe2(pipe, O_CLOEXEC) != 0) return errno_error("making", "a pipe", errno);
    out = sdk::Fd(pipe[0]);
    in = sdk::Fd(pipe[1]);
  }
  const PassedSignals signals;
  const int output = ends.output >= 0 ? ends.output : output_fd();
  const auto pid = start(std::move(words), out.get(), output, signals.before());
  if (!pid) return pid.error();
  out.reset();
  Result<void> fed;
  {
    const Passing passing(signals, *pid);
    if (ends.feed) fed = feed(ends, std::move(in), *pid);
    wait_for_end(*pid);
  }
  const int status = status_of(*pid);
  if (!fed) return fed.error();
  return status;
}

}  // namespace

std::string python_package() {
  const fs::path here = program_directory();
  if (here.empty()) return {};
  std::error_code error;
  // A build tree contains a link to the sources beside the program.
  if (fs::exists(here / "../../build.ninja", error)) return (here / "python_package").string();
  fs::path prefix = here;
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
  forget_relative_paths();
  // The package itself checks for DuckDB: another process would add a fifth to the time of a
  // ranking.
  return script.empty() ? Result<void>() : look_for_duckdb();
}

Result<int> run_python(std::vector<std::string> arguments, const PythonEnds& ends) {
  if (auto found = find_python(ends.script); !found) return found.error();
  const std::string package = python_package();
  std::vector<std::string> words{kPython, "-B"};
  // Without the `site` module, which the package loads only if necessary.
  if (ends.script.empty()) words.emplace_back("-S");
  words.push_back(ends.script.empty() ? package : package + "/" + ends.script);
  words.insert(words.end(), std::make_move_iterator(arguments.begin()),
               std::make_move_iterator(arguments.end()));
  return run_package(std::move(words), ends);
}

}  // namespace ctprof::cli

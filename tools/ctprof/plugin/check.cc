#include "tools/ctprof/plugin/check.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/child_setup.hpp"
#include "core/base/json_writer.hpp"
#include "core/output/output_process.hpp"
#include "core/registry/loader.hpp"
#include "core/registry/plugin_directory.hpp"
#include "core/render/terminal_text.hpp"
#include "ctprof/files.hpp"
#include "tools/ctprof/plugin/child_processes.hpp"
#include "tools/ctprof/plugin/plugin_options.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr ::uid_t kNobody = 65534;
constexpr std::chrono::seconds kTimeout{120};
constexpr ::rlim_t kCpuSeconds = 60, kDescriptors = 4096;
// Limit in bytes for the output of the child; the rest is dropped.
constexpr std::size_t kMaxOutputBytes = 1 << 20;

constexpr std::string_view kRemains = "it leaves processes behind that cannot be killed";

struct CheckReport {
  std::vector<std::string> faults, notes, costs;
  bool has_end = false;
};

// A new directory that contains only a copy of the plugin, so that no other file is loaded.
class PluginCopy {
 public:
  static Result<PluginCopy> make(const fs::path& file) {
    std::string name = (fs::temp_directory_path() / "ctprof-check-XXXXXX").string();
    if (!::mkdtemp(name.data())) return errno_error("creating", name, errno);
    PluginCopy copy(name);
    std::error_code failed;
    fs::permissions(name, fs::perms(0755), failed);
    const fs::path to = fs::path(name) / file.filename();
    if (!failed) fs::copy_file(file, to, failed);
    if (!failed) fs::permissions(to, fs::perms(0644), failed);
    if (failed) return error("copying", file.string(), failed.message());
    return copy;
  }
  PluginCopy(PluginCopy&& other) noexcept : directory_(std::exchange(other.directory_, "")) {}
  PluginCopy& operator=(PluginCopy&&) = delete;
  ~PluginCopy() {
    std::error_code ignored;
    if (!directory_.empty()) fs::remove_all(directory_, ignored);
  }
  const std::string& directory() const { return directory_; }

 private:
  explicit PluginCopy(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
};

void set_limit(int resource, ::rlim_t limit_value) {
  ::rlimit limit{};
  ::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
  limit.rlim_cur = limit.rlim_max = std::min(limit_value, limit.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
}

// In the child: leaves everything of root that is not needed to check a plugin: the user, the
// session, descriptors, the environment, and programs that would give rights back. Returns false on
// failure. Changing the user clears the parent death signal, so it is set afterwards.
bool become_nobody() {
  leave_session();
  return ::setgroups(0, nullptr) == 0 && ::setresgid(kNobody, kNobody, kNobody) == 0 &&
         ::setresuid(kNobody, kNobody, kNobody) == 0 &&
         ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

std::vector<std::string> all_variables() {
  std::vector<std::string> variables;
  for (char** variable = environ; variable && *variable; ++variable)
    variables.emplace_back(*variable);
  return variables;
}

// In the child: starts the checks. Returns only on failure.
void run_child_process(std::vector<std::string> words, int out, int err, bool as_root,
                       ::pid_t parent) {
  const bool drops_rights = ::getuid() == 0 && !as_root;
  if (!drops_rights) ::setpgid(0, 0);
  if (drops_rights && !become_nobody()) {
    ::dprintf(err, "ctprof: becoming user %d: %s; pass --as-root\n", kNobody, std::strerror(errno));
    return;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) return;
  set_limit(RLIMIT_CPU, kCpuSeconds);
  set_limit(RLIMIT_NOFILE, kDescriptors);
  set_limit(RLIMIT_CORE, 0);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  if (drops_rights) {
    confine_to_own_processes();
    ::close(STDIN_FILENO);
    close_all_except({STDOUT_FILENO, STDERR_FILENO});
    fill_standard_descriptors();
  }
  start_again(std::move(words),
              drops_rights ? keep_harmless_variables(environ, {}) : all_variables());
}

struct Pipe {
  sdk::Fd read, write;
  static Result<Pipe> make() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_error("creating", "a pipe", errno);
    return Pipe{sdk::Fd(ends[0]), sdk::Fd(ends[1])};
  }
};

// Reads both pipes until they are closed or the child has exited: processes that it started may
// keep them open. Returns false if that takes longer than kTimeout.
bool read_pipes(std::array<const sdk::Fd*, 2> from, int child, std::array<std::string, 2>& texts) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + kTimeout;
  std::array<bool, 2> open{true, true};
  while (open[0] || open[1]) {
    std::array<::pollfd, 3> poll_fds{};
    for (std::size_t i = 0; i < 2; ++i) poll_fds[i] = {open[i] ? from[i]->get() : -1, POLLIN, 0};
    poll_fds[2] = {child, POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    if (::poll(poll_fds.data(), poll_fds.size(), static_cast<int>(left.count())) < 0) continue;
    const bool is_silent = poll_fds[0].revents == 0 && poll_fds[1].revents == 0;
    const bool is_full = texts[0].size() + texts[1].size() > kMaxOutputBytes;
    if (poll_fds[2].revents != 0 && (is_silent || is_full)) return true;
    for (std::size_t i = 0; i < 2; ++i) {
      if (poll_fds[i].revents == 0) continue;
      std::array<char, 4096> bytes{};
      const ssize_t bytes_read = ::read(from[i]->get(), bytes.data(), bytes.size());
      open[i] = bytes_read > 0 || (bytes_read < 0 && errno == EINTR);
      if (bytes_read > 0 && texts[i].size() < kMaxOutputBytes)
        texts[i].append(bytes.data(), static_cast<std::size_t>(bytes_read));
    }
  }
  return true;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty())
    if (const std::string_view line = sdk::take(text, '\n'); !line.empty())
      lines.emplace_back(line);
  return lines;
}

// Adds a fault once, even if each capture causes it.
void add_fault(std::string sentence, CheckReport& report) {
  if (std::ranges::count(report.faults, sentence) == 0)
    report.faults.push_back(std::move(sentence));
}

void add_line(std::string_view line, CheckReport& report) {
  const auto take_line = [&](std::string_view kind, std::vector<std::string>& into) {
    if (!line.starts_with(kind)) return false;
    into.emplace_back(line.substr(kind.size()));
    return true;
  };
  if (take_line(kFaultLine, report.faults) || take_line(kNoteLine, report.notes) ||
      take_line(kCostLine, report.costs))
    return;
  if (line == kEndLine)
    report.has_end = true;
  else
    add_fault("it prints: " + std::string(line), report);
}

// Each line on standard error is a fault: a message of ctprof about the plugin, or the output of
// the plugin.
void add_error_line(std::string_view line, CheckReport& report) {
  constexpr std::string_view kOwnPrefix = "ctprof: ";
  if (line.starts_with(kOwnPrefix))
    add_fault(std::string(line.substr(kOwnPrefix.size())), report);
  else
    add_fault("it prints: " + std::string(line), report);
}

void add_exit_status(int status, CheckReport& report) {
  if (report.has_end && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (WIFSIGNALED(status))
    report.faults.push_back("it ends ctprof with signal " + std::to_string(WTERMSIG(status)));
  else if (report.faults.empty())
    report.faults.push_back("it ends ctprof with status " + std::to_string(WEXITSTATUS(status)));
}

Result<CheckReport> run_child(const std::vector<std::string>& words, bool as_root) {
  auto out = Pipe::make();
  auto err = Pipe::make();
  if (!out || !err) return (out ? err : out).error();
  const ::pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) return errno_error("starting", "a child process", errno);
  if (child == 0) {
    run_child_process(words, out->write.get(), err->write.get(), as_root, parent);
    ::_exit(kFailed);
  }
  out->write = sdk::Fd();
  err->write = sdk::Fd();
  std::array<std::string, 2> texts;
  const sdk::Fd child_file(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  const bool is_done = read_pipes({&out->read, &err->read}, child_file.get(), texts);
  ::kill(-child, SIGKILL);
  int status = 0;
  CheckReport report;
  if (!end_children(child, status)) report.faults.emplace_back(kRemains);
  for (const std::string& line : split_lines(texts[0])) add_line(line, report);
  for (const std::string& line : split_lines(texts[1])) add_error_line(line, report);
  if (!is_done)
    report.faults.push_back("it does not return within " + std::to_string(kTimeout.count()) + " s");
  else
    add_exit_status(status, report);
  return report;
}

std::string text_of(const std::string& file, const CheckReport& report) {
  std::string text =
      make_printable(file) + ": " + format_count(report.faults.size(), "fault") + "\n";
  const auto add = [&](std::string_view kind, const std::vector<std::string>& sentences) {
    for (const std::string& sentence : sentences)
      text += "  " + std::string(kind) + make_printable(sentence) + "\n";
  };
  add(kFaultLine, report.faults);
  add(kNoteLine, report.notes);
  add(kCostLine, report.costs);
  return text;
}

std::string json_of(const std::string& file, const CheckReport& report) {
  JsonWriter out(Escape::Unprintable);
  out.put('{');
  out.member("schema", 1);
  out.member("file", file);
  const auto add = [&](const char* key, const std::vector<std::string>& sentences) {
    out.key(key);
    out.put('[');
    for (const std::string& sentence : sentences) out.text(sentence), out.put(',');
    out.close(']');
    out.put(',');
  };
  add("faults", report.faults);
  add("notes", report.notes);
  add("costs", report.costs);
  out.close('}');
  out.put('\n');
  return std::string(out.view());
}

// Replaces the path of the copy by the plugin's own name, and removes advice that only helps users
// of ctprof.
void clean_up_sentences(std::vector<std::string>& sentences, const std::string& path,
                        const std::string& file) {
  constexpr std::string_view kAdvice = "; remove that file";
  for (std::string& sentence : sentences) {
    if (const std::size_t at = sentence.find(path); at != sentence.npos)
      sentence.replace(at, path.size(), file);
    sentence.resize(std::min(sentence.size(), sentence.find(kAdvice)));
  }
}

// Loads an output plugin in its own process and checks its table. Returns none for a plugin of
// another kind. The functions are not called: they may need settings, and a server.
std::optional<CheckReport> check_output(const fs::path& file) {
  if (!is_output_file(file)) return std::nullopt;
  auto opened = open_output_file(file);
  if (!opened) return std::nullopt;
  CheckReport report;
  {
    auto output =
        OutputProcess::start(std::move(*opened), {.name = file.stem().string(), .opens = false});
    if (!output) report.faults.push_back(output.error().text);
    if (output)
      for (const std::string& line : output->take_printed_lines())
        report.faults.push_back("it prints: " + line);
  }
  int status = 0;
  if (!end_children(0, status)) report.faults.emplace_back(kRemains);
  report.notes.emplace_back("it is an output plugin; only its table was checked");
  return report;
}

Result<CheckReport> check_file(const fs::path& file, const PluginCommandOptions& options) {
  std::error_code failed;
  const fs::path canonical_path = fs::canonical(file, failed);
  if (failed) return error("checking", file.string(), failed.message());
  if (auto output = check_output(canonical_path)) return std::move(*output);
  const bool is_own =
      canonical_path.parent_path() == fs::weakly_canonical(own_plugin_directory(), failed);
  std::vector<std::string> words{"ctprof", "plugin", "check-child"};
  const auto run = [&](const std::string& directory, const std::string& path) {
    words.insert(words.end(), {directory, path});
    if (!options.rootfs.empty()) words.insert(words.end(), {"--rootfs", options.rootfs});
    auto report = run_child(words, options.as_root);
    if (report) clean_up_sentences(report->faults, path, canonical_path.filename().string());
    return report;
  };
  if (is_own) return run("", own_plugin_directory() + "/" + canonical_path.filename().string());
  CTPROF_TRY_VALUE(const auto copy, PluginCopy::make(canonical_path));
  return run(copy.directory(), copy.directory() + "/" + canonical_path.filename().string());
}

}  // namespace

int run_plugin_check(const PluginCommandOptions& options) {
  if (options.arguments.size() != 2)
    return fail("missing FILE; usage: ctprof plugin check FILE.so [--as-root] [--rootfs DIR]");
  const std::string& file = options.arguments[1];
  if (!file.ends_with(".so")) return fail("checking '" + file + "': a plugin's name ends in .so");
  adopt_orphans();
  const auto report = check_file(file, options);
  if (!report) return fail(report.error());
  const int printed =
      print(options.format == Format::Json ? json_of(file, *report) : text_of(file, *report));
  return printed != kSuccess ? printed : report->faults.empty() ? kSuccess : kFindingsFound;
}

}  // namespace ctprof::cli

// ctprof record-tree: copies the kernel files that a capture reads into a directory, for tests of
// plugins with --rootfs. The files are those that the metrics of the loaded plugins name as their
// sources, so those of a plugin that is being written are included.

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/capture/roots.hpp"
#include "tools/ctprof/commands/tree_files.hpp"
#include "tools/ctprof/options/capture_options.hpp"
#include "tools/ctprof/options/command.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

namespace fs = std::filesystem;

// Limits of a tree. A recorded tree is for tests: use --pid to select processes.
constexpr std::size_t kMaxThreads = 1'000, kMaxTreeCgroups = 1'000;
constexpr std::size_t kMaxFileBytes = 1 << 20;
constexpr std::uint64_t kMaxTreeBytes = 256 << 20;

class TreeRecorder {
 public:
  TreeRecorder(const Roots& roots, TreeFiles files, fs::path target)
      : roots_(roots), files_(std::move(files)), target_(std::move(target)) {}

  Result<void> record(const std::vector<std::uint64_t>& pids) {
    copy_all(TreePlace::Proc, roots_.proc_fd.get(), "", "proc");
    copy_all(TreePlace::Sys, roots_.sys_fd.get(), "", "sys");
    record_threads(pids);
    if (roots_.cgroup_fd)
      record_cgroups(TreePlace::Cgroup, roots_.cgroup, roots_.cgroup_fd.get(), "sys/fs/cgroup");
    record_v1_hierarchies();
    return error_.empty() ? Result<void>() : Error{error_};
  }

  std::string describe() const {
    std::string text = "recorded " + format_count(file_count_, "file", "files") + " of " +
                       format_count(thread_count_, "thread", "threads") + " and " +
                       format_count(cgroup_count_, "cgroup", "cgroups") + " in '" +
                       target_.string() + "'";
    if (unread_count_ > 0)
      text += "; " + std::to_string(unread_count_) + " files are missing or cannot be read";
    if (is_limited_) text += "; the rest exceeds the limits of a tree: select processes with --pid";
    return text;
  }

 private:
  void record_threads(const std::vector<std::uint64_t>& pids) {
    Walker walker;
    const auto all = walker.processes(roots_.proc_fd.get());
    if (!all) return;
    for (const std::uint64_t tgid : *all) {
      if (!pids.empty() && std::ranges::find(pids, tgid) == pids.end()) continue;
      std::vector<ctprof::ThreadId> threads;
      walker.threads(roots_.proc_fd.get(), tgid, threads);
      const std::string process = std::to_string(tgid) + "/";
      if (is_full(thread_count_ + threads.size(), kMaxThreads)) return;
      copy_all(TreePlace::Process, roots_.proc_fd.get(), process, "proc");
      for (const ctprof::ThreadId& thread : threads) {
        copy_all(TreePlace::Thread, roots_.proc_fd.get(),
                 process + "task/" + std::to_string(thread.tid) + "/", "proc");
        ++thread_count_;
      }
    }
  }

  // Copies files of all cgroups below an open directory.
  void record_cgroups(TreePlace place, const std::string& top, int directory, const char* to) {
    std::vector<std::string> paths{""};
    std::error_code failed;
    const auto skip_denied = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator it(top, skip_denied, failed), end; !failed && it != end;
         it.increment(failed))
      if (it->is_directory(failed) && !it->is_symlink(failed))
        paths.push_back(it->path().string().substr(top.size() + 1) + "/");
    for (const std::string& path : paths) {
      if (is_full(cgroup_count_ + 1, kMaxTreeCgroups)) return;
      copy_all(place, directory, path, to);
      ++cgroup_count_;
    }
  }

  // Hierarchies of cgroup v1 are beside each other, and those without any of the files are omitted.
  void record_v1_hierarchies() {
    const std::string all = roots_.sys + "/fs/cgroup";
    std::error_code failed;
    for (fs::directory_iterator it(all, failed), end; !failed && it != end; it.increment(failed)) {
      const std::string top = it->path().string(), name = it->path().filename().string();
      if (roots_.cgroup == all || top == roots_.cgroup || it->is_symlink(failed)) continue;
      const sdk::Fd directory(::open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      const bool has_files =
          std::ranges::any_of(files_[TreePlace::CgroupV1], [&](const std::string& file) {
            return ::faccessat(directory.get(), file.c_str(), F_OK, 0) == 0;
          });
      if (has_files)
        record_cgroups(TreePlace::CgroupV1, top, directory.get(),
                       ("sys/fs/cgroup/" + name).c_str());
    }
  }

  // Notes that a limit is reached.
  bool is_full(std::size_t count, std::size_t limit) {
    const bool is_exceeded = count > limit || byte_count_ > kMaxTreeBytes || !error_.empty();
    is_limited_ = is_limited_ || is_exceeded;
    return is_exceeded;
  }

  // Copies the files of a place: from below the open directory to below the directory of the tree.
  void copy_all(TreePlace place, int from, const std::string& directory, const char* to) {
    for (const std::string& name : files_[place]) {
      const auto text = file_.read_records(from, (directory + name).c_str());
      if (!text)
        ++unread_count_;
      else if (error_.empty())
        write(target_ / to / (directory + name), text.value.substr(0, kMaxFileBytes));
    }
  }

  void write(const fs::path& path, std::string_view text) {
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    std::ofstream out(path, std::ios::binary);
    out << text;
    out.close();
    if (!out) error_ = error("writing", path.string(), std::strerror(errno)).text;
    ++file_count_;
    byte_count_ += text.size();
  }

  const Roots& roots_;
  TreeFiles files_;
  const fs::path target_;
  sdk::TextFile file_;
  std::string error_;
  std::size_t file_count_ = 0, thread_count_ = 0, cgroup_count_ = 0, unread_count_ = 0;
  std::uint64_t byte_count_ = 0;
  bool is_limited_ = false;
};

struct RecordTreeOptions : CommonOptions, ProcessChoice, RootfsOption {};

constexpr auto kRecordTreeOptions =
    option_list<RecordTreeOptions>(kPids, kVerbose, kScreen, kPluginChoice, kRootfs, kQuietAndHelp);

int run_record_tree(const RecordTreeOptions& options) {
  if (options.arguments.size() != 1)
    return fail("missing DIR; usage: ctprof record-tree DIR [--pid PID,...]");
  const std::string& target = options.arguments.front();
  // The files would be readable for the user, although only ctprof may read them.
  if (::getauxval(AT_SECURE) != 0)
    return fail("recording '" + target +
                "': ctprof has file capabilities; run another ctprof as root");
  auto registry = load_metrics(options);
  if (!registry) return fail(registry.error());
  const auto roots = open_roots(options.rootfs);
  if (!roots) return fail(roots.error());
  if (::mkdir(target.c_str(), S_IRWXU) != 0)
    return fail(error("creating", target, std::strerror(errno)));
  TreeRecorder recorder(*roots, list_tree_files(*registry), target);
  if (const auto done = recorder.record(options.pids); !done) return fail(done.error());
  print_note(options, recorder.describe());
  return kSuccess;
}

}  // namespace

extern constinit const CommandInfo kRecordTreeCommand =
    make_command<RecordTreeOptions, run_record_tree>(
        {.name = "record-tree",
         .similar_names = "fixture,snapshot-tree",
         .arguments = "DIR",
         .summary =
             "copy the kernel files that a capture reads into a directory, for tests of plugins",
         .example = "ctprof record-tree tree --pid 1",
         .max_arguments = 1},
        kRecordTreeOptions);

}  // namespace ctprof::cli

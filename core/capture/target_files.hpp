// Opens files that other processes have mapped, within a limit of time, and with no rights that the
// process, or the user of ctprof, lacks.
//
// A file counts only where it is the very one of the mapping, by device and inode: what stands at
// its path now may be another. Nor does it count if its content was changed since it was mapped, or
// pinned (pinned_files.hpp), or may have been: the path of a process that exited may lead to
// another file that has the inode now. Only regular files are ever opened. In this order:
//
//   a pinned file's descriptor, else
//   /proc/PID/map_files, /proc/PID/exe   the mapping itself, with the rights of ctprof
//   the path under the process's root    as the user of the process, without capabilities
//   the path under the root of ctprof    likewise; of a process that has exited as the user that it
//                                        had, else as the user of ctprof without capabilities
//
// With lent rights (the executable has capabilities that its user does not have) every file is
// opened as that user, without capabilities, also through the mapping: a program that the user may
// execute but not read has no names.
//
// A file server may never answer, and anybody may mount one. A thread that waits for it may not
// even be killed. So a child process opens, and one that has taken a second is left behind. What is
// on no disk of the host is copied by that process, whole, so that no later read waits for its
// server. Copies are limited in all, less those that were closed by close(). After late answers
// less is asked (late_answers.hpp).
//
// Threads: one at a time.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/child_process.hpp"
#include "core/capture/late_answers.hpp"
#include "core/capture/target_opener.hpp"
#include "core/capture/target_owner.hpp"
#include "core/stacks/address_space.hpp"
#include "core/stacks/debug_files.hpp"
#include "core/stacks/jit_maps.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

class TargetFiles {
 public:
  static constexpr std::chrono::milliseconds kPatience{1000};
  // Bytes of all files that are copied: a container with a browser in it has 300 MiB.
  static constexpr std::uint64_t kMostCopied = 512 << 20;

  // `proc`: the open directory /proc; it may be closed afterwards. `patience`: how long a file may
  // take to be opened. `is_lent`: whether ctprof has rights that its user does not have.
  explicit TargetFiles(int proc, std::chrono::milliseconds patience = kPatience,
                       bool is_lent = has_lent_rights(), std::uint64_t most_copied = kMostCopied,
                       std::size_t most_map = JitMap::kMost);
  TargetFiles(const TargetFiles&) = delete;
  TargetFiles& operator=(const TargetFiles&) = delete;

  // The file that is mapped there, to be read with pread(2); none where it cannot be had.
  // `owner`: the user of the process when it was last read, for a process that has exited.
  // `content`: a file with another content is not opened.
  sdk::Fd open(std::uint64_t process, const CodeRange& range, const std::string& path, FileId file,
               const std::optional<TargetOwner>& owner = {}, const MappedContent& content = {});
  // The same of a file by what the kernel reads, which on an overlay mount is a file of a layer:
  // opens the file over it, too, if a process in our user namespace has mapped that one, on an
  // overlay mount of its own (overlay_mount.hpp). The caller checks the size and the time of the
  // last change, which are those of the layer's file.
  sdk::Fd open_stored(std::uint64_t process, const Mapping& mapping);
  // The last `open_stored`, if it opened a file on an overlay mount: as /proc/PID/maps lists it.
  const FileId& on_overlay() const { return last_.on_overlay; }
  const std::string& path_on_overlay() const { return last_.path; }
  // Whether the last `open` returned nothing because the file has another content.
  bool is_changed() const { return last_.is_changed; }
  // The stamp of the file that the last `open` opened, also where it returned a copy of the file,
  // which has another. Nothing: the file was not opened, or its stamp is unknown.
  const std::optional<FileStamp>& stamp() const { return last_.stamp; }
  // Closes the descriptor that the last `open` returned. If it is of a copy, the bytes of the copy
  // no longer count as copied.
  void close(sdk::Fd fd);
  // /tmp/perf-<pid>.map, which a just-in-time compiler wrote: under the root of the process, then
  // under that of ctprof, where it also remains after a process has exited. Empty: there is none.
  // It counts where it is a regular file of the process's user, reached without symbolic links, and
  // was written since the process started, and before another process got its number. Of a large
  // one, the newest entries are read, which are at its end.
  // `owner`: the user of the process when it was last read, and when it started.
  JitMap perf_map(std::uint64_t process, const std::optional<TargetOwner>& owner = {});
  // A regular file that another file names by an absolute path, opened as the user of ctprof
  // without capabilities; none if it cannot be opened in time.
  sdk::Fd open_named(const std::string& path);
  // What /proc/kallsyms says.
  std::string kernel_symbols();

  // Waits for files again as if no answer had been late. held_up() begins at 0.
  void forget_late() { late_ = LateAnswers(late_.full_patience()); }

  // How many answers were late.
  std::size_t held_up() const { return late_.count(); }
  // Files that were not opened for that, or because copies take too much memory: the first hundred.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  sdk::Fd open_mapped(const OpenRequest& request);
  sdk::Fd in_time(const OpenRequest& request, bool& is_late);
  void leave_out(const std::string& path);

  sdk::Fd proc_;
  TargetOpener opener_;
  ChildProcess child_;  // it runs the opener
  LateAnswers late_;
  std::size_t most_map_;
  std::vector<std::string> left_out_;
  bool is_left_out_ = false;  // the last file, for lack of memory or an answer
  OpenedFile last_ = {};      // without its descriptor
};

}  // namespace ctprof

// A directory of recordings to which windows are added, and which is kept within an age and a size.
//
//   auto archive = Archive::open("/var/log/ctprof", {.rules = {...}});
//   while (...)
//     for (const std::string& message : archive->add(window)) print(message);
//
// One process adds at a time. A lock on the directory excludes others, and is released when the
// process ends for any reason. At any time, even after SIGKILL, every file contains only complete
// windows, except for the end of one file. Readers skip that end, and the next open() cuts it off
// before it appends.
//
// If the disk is full, the oldest files are dropped: at most two for each window, and never the one
// that is appended to. If that is not enough, or if another error occurs, the window is missing. A
// message reports this once, and another one reports when writing succeeds again. A file that
// cannot be removed is reported and still counted. After the directory was removed, no further
// window can be written (is_removed).
//
// Contents: adding and dropping windows.
//
// See also: tools/ctprof for recording, span.hpp for reading, rotation.hpp for the files to drop.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/archive/directory.hpp"
#include "core/archive/rotation.hpp"
#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof {

// Options of an archive.
struct ArchiveOptions {
  RetentionRules rules;
  // Time to the next window: files that become too old until then are dropped now.
  std::uint64_t time_to_next_window_ns = 0;
  bool sync = true;      // call fsync after each window
  unsigned workers = 0;  // 0: as many as the host can spare
  std::function<std::uint64_t()> now_unix_ns = &realtime_ns;
};

// A directory to which this process adds windows. Threads: one.
class Archive {
 public:
  // Locks the directory and rewrites the index. Fails if another process adds windows, if another
  // user can replace files in the directory (own_files.hpp), or if the directory contains only
  // files that ctprof did not write. Files of other users, and files with a second link, are
  // neither counted nor appended to.
  static Result<Archive> open(const std::string& path, ArchiveOptions options);

  // Adds a window. Returns messages for the user: files that were dropped before they reached the
  // maximum age, and missing windows. REQUIRES: the window's counters were not converted to
  // differences. Throws bad_alloc.
  std::vector<std::string> add(const Snapshot& window);
  // Returns a message about missing windows at the end, if there are any.
  std::vector<std::string> finish();

  // Returns whether the directory was removed, so that its files can no longer be found.
  bool is_removed() const;

  // The existing files, sorted by name.
  const std::vector<ArchiveFile>& files() const { return files_; }
  // Messages about the files found by open(), such as incomplete windows at their ends.
  const std::vector<std::string>& open_messages() const { return open_messages_; }
  // Size of the last window that was added.
  std::uint64_t last_bytes() const { return last_bytes_; }
  // Number of windows that add() stored.
  std::uint64_t stored_windows() const { return stored_windows_; }

 private:
  Archive(Directory directory, ArchiveOptions options)
      : directory_(std::move(directory)), options_(std::move(options)) {}
  Result<void> scan_files();
  ArchiveFile* file_to_append(std::uint64_t hour, std::uint64_t bytes);
  unsigned next_part(std::uint64_t hour) const;
  int write_window(const Snapshot& window, std::string_view block);
  int record_window(ArchiveFile& file, const Snapshot& window, std::string_view block);
  FileAges compute_ages(const Snapshot& window, std::vector<std::string>& messages);
  void drop_old(const FileAges& compute_ages, std::vector<std::string>& messages);
  bool drop_for_size(const FileAges& compute_ages, std::uint64_t bytes,
                     std::vector<std::string>& messages);
  bool drop_for_disk(const FileAges& compute_ages, std::vector<std::string>& messages);
  bool drop(const HourFile& name, std::vector<std::string>& messages);
  std::vector<HourFile> files_by_age(const FileAges& compute_ages) const;
  void write_index();
  void add_to_index(const ArchiveFile& file);
  void record_missing_window(const Snapshot& window, const std::string& why,
                             std::vector<std::string>& messages);
  void report_missing(std::vector<std::string>& messages);

  Directory directory_;
  ArchiveOptions options_;
  std::vector<ArchiveFile> files_;
  std::vector<std::string> open_messages_;
  std::uint64_t last_bytes_ = 0, stored_windows_ = 0;
  bool is_index_complete_ = false;
  std::optional<HourFile> last_appended_;  // the last file that received a window
  std::set<HourFile> undeletable_;         // files that could not be deleted
  bool has_reported_step_ = false;
  // Consecutive windows that could not be written, in wall clock time.
  struct MissingWindows {
    std::uint64_t windows = 0, from_ns = 0, until_ns = 0;
  } missing_windows_;
};

}  // namespace ctprof

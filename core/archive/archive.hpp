// A directory of recordings that is added to, and kept within an age and a size.
//
//   Result<Archive> archive = Archive::open("/var/log/ctprof", {.keep_ns = ..., .most_bytes =
//   ...}); while (...) for (const std::string& sentence : archive->keep(window)) say(sentence);
//
// One process adds at a time; a lock on the directory keeps others out, and goes with the process,
// however it ends. At any instant, SIGKILL included, every file is whole but for the end of one,
// which readers leave out and the next open() cuts off before it goes on. A disk that is full costs
// the oldest files, two for a window at most, never the one that is being added to; where that is
// not enough, or another error occurs, the window is missing. A message reports this once, and
// another one reports when writing succeeds again. A file that cannot be removed is reported and
// still counted. After the directory was removed, no further window can be written (is_removed).
//
// What is here:   adding, dropping.
// What is not:    recording (tools/ctprof), reading (span.hpp), which files go (rotation.hpp).

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

struct ArchiveOptions {
  KeepRules rules;
  std::uint64_t ahead_ns = 0;  // until the next window comes: what is too old then goes now
  bool sync = true;            // wait for the disk, after each window
  unsigned workers = 0;        // 0: what the host can spare
  std::function<std::uint64_t()> now_unix_ns = &realtime_ns;
};

class Archive {
 public:
  // Takes the lock and writes the index anew. Fails if another process adds windows, if another
  // user can replace files in the directory (own_files.hpp), or if the directory contains only
  // files that ctprof did not write. A file that another user owns, or that has a second link, is
  // neither counted nor appended to.
  static Result<Archive> open(const std::string& path, ArchiveOptions options);

  // Adds a window. Returns what people should know of it: what had to go before its time, and what
  // is missing. REQUIRES: no differences were made. Throws bad_alloc.
  std::vector<std::string> keep(const Snapshot& window);
  // Says which windows are missing at the end, if any.
  std::vector<std::string> finish();

  // Whether the directory was removed, so that no file in it can ever be found again.
  bool is_removed() const;

  // By name, those that are there now.
  const std::vector<KeptFile>& files() const { return files_; }
  // What was found when it was opened: ends that were cut short.
  const std::vector<std::string>& found() const { return found_; }
  // Bytes of the last window that was added.
  std::uint64_t last_bytes() const { return last_bytes_; }

 private:
  Archive(Directory directory, ArchiveOptions options)
      : directory_(std::move(directory)), options_(std::move(options)) {}
  Result<void> look();
  KeptFile* file_for(std::uint64_t hour, std::uint64_t bytes);
  unsigned next_part(std::uint64_t hour) const;
  int put(const Snapshot& window, std::string_view block);
  int put_into(KeptFile& file, const Snapshot& window, std::string_view block);
  Ages ages(const Snapshot& window, std::vector<std::string>& told);
  void drop_old(const Ages& ages, std::vector<std::string>& told);
  bool make_room(const Ages& ages, std::uint64_t bytes, std::vector<std::string>& told);
  bool drop_for_disk(const Ages& ages, std::vector<std::string>& told);
  bool drop(const HourFile& name, std::vector<std::string>& told);
  std::vector<HourFile> by_age(const Ages& ages) const;
  void write_index();
  void add_to_index(const KeptFile& file);
  void miss(const Snapshot& window, const std::string& why, std::vector<std::string>& told);
  void tell_missing(std::vector<std::string>& told);

  Directory directory_;
  ArchiveOptions options_;
  std::vector<KeptFile> files_;
  std::vector<std::string> found_;
  std::uint64_t last_bytes_ = 0;
  bool index_is_whole_ = false;
  std::optional<HourFile> added_to_;  // the last file that a window went into
  std::set<HourFile> stuck_;          // that could not be dropped
  bool told_step_ = false;
  struct Missing {
    std::uint64_t windows = 0, from_ns = 0, until_ns = 0;
  } missing_;
};

}  // namespace ctprof

#include "core/archive/archive.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/archive/hour_writer.hpp"
#include "core/archive/time_text.hpp"
#include "core/base/own_files.hpp"
#include "core/base/text.hpp"
#include "core/file/file.hpp"
#include "core/file/layout/limits.hpp"

namespace ctprof {
namespace {

// Limits the files that are dropped for one window when the disk is full, because other programs
// may be filling it.
constexpr std::size_t kMaxDroppedPerWindow = 2;

// Returns text such as "20261116T14Z-01.ctprof.zst (60 windows, 2026-11-16 15:00:00 to 2026-11-16
// 16:00:00)".
std::string describe_file(const ArchiveFile& file) {
  std::string text = file_name_of(file.name);
  if (file.windows.empty()) return text;
  return text + " (" + format_count(file.windows.size(), "window") + ", " +
         format_local_times(file.windows.front().opened_at.wall_unix_ns,
                            file.windows.back().ended_at.wall_unix_ns) +
         ")";
}

bool is_disk_full(int number) { return number == ENOSPC || number == EDQUOT; }

}  // namespace

Result<Archive> Archive::open(const std::string& path, ArchiveOptions options) {
  CTPROF_TRY_VALUE(auto directory, Directory::open(path));
  if (::flock(directory.fd(), LOCK_EX | LOCK_NB) != 0)
    return errno != EWOULDBLOCK
               ? errno_error("locking the directory", path, errno)
               : error("recording into the directory", path,
                       "another ctprof records into it; stop that one, or name another directory");
  if (const std::string why = directory_ownership_problem(path, directory.fd()); !why.empty())
    return error("recording into the directory", path, why);
  CTPROF_TRY_VALUE(const auto has_files, directory.has_files());
  if (const auto foreign_name = directory.foreign_name();
      !has_files && (!foreign_name || !foreign_name->empty()))
    return !foreign_name
               ? foreign_name.error()
               : error("recording into the directory", path,
                       "it contains other files, such as '" + *foreign_name +
                           "', but no recordings of --every; name a new or empty directory");
  if (::faccessat(directory.fd(), ".", W_OK, AT_EACCESS) != 0)
    return errno_error("recording into the directory", path, errno);
  Archive archive(std::move(directory), std::move(options));
  CTPROF_TRY(archive.scan_files());
  return archive;
}

Result<void> Archive::scan_files() {
  CTPROF_TRY_VALUE(auto files, directory_.files(Directory::Owner::EffectiveUser));
  files_ = std::move(files);
  for (const ArchiveFile& file : files_) {
    if (file.is_truncated)
      open_messages_.push_back(file_name_of(file.name) +
                               " ends with an incomplete window, which is lost");
    if (!file.invalid_reason.empty())
      open_messages_.push_back(file_name_of(file.name) + " cannot be read beyond byte " +
                               std::to_string(file.complete_bytes) + ": " + file.invalid_reason);
  }
  write_index();
  return {};
}

std::vector<std::string> Archive::add(const Snapshot& window) {
  std::vector<std::string> messages;
  const FileAges ages = this->compute_ages(window, messages);
  drop_old(ages, messages);
  const auto block = serialize_block(window, options_.workers);
  if (!block) return record_missing_window(window, block.error().text, messages), messages;
  last_bytes_ = block->size();
  if (block->size() > options_.rules.max_bytes / 2 || block->size() > limits::kFileBytes)
    return record_missing_window(
               window,
               "it has " + std::to_string(block->size()) + " bytes, too many for --max-size",
               messages),
           messages;
  if (!drop_for_size(ages, block->size(), messages))
    return record_missing_window(
               window, "existing files that cannot be deleted use all of --max-size", messages),
           messages;
  int failed = write_window(window, *block);
  for (std::size_t dropped = 0;
       is_disk_full(failed) && dropped < kMaxDroppedPerWindow && drop_for_disk(ages, messages);
       ++dropped)
    failed = write_window(window, *block);
  if (failed != 0)
    record_missing_window(window, std::strerror(failed), messages);
  else
    report_missing(messages);
  if (!is_index_complete_) write_index();
  return messages;
}

bool Archive::is_removed() const {
  struct stat status {};
  if (::fstat(directory_.fd(), &status) != 0) return errno == ESTALE || errno == ENOENT;
  return status.st_nlink == 0;
}

std::vector<std::string> Archive::finish() {
  std::vector<std::string> messages;
  report_missing(messages);
  return messages;
}

// Returns the file to which the window is appended; null if a new file is needed. Only the last
// file of the hour is used, and only if its end is readable and the window fits.
ArchiveFile* Archive::file_to_append(std::uint64_t hour, std::uint64_t bytes) {
  const std::uint64_t most =
      std::min<std::uint64_t>(options_.rules.max_bytes / kMinParts, limits::kFileBytes / 2);
  const auto last = std::find_if(files_.rbegin(), files_.rend(),
                                 [&](const ArchiveFile& file) { return file.name.hour == hour; });
  if (last == files_.rend() || !last->invalid_reason.empty() || last->complete_bytes + bytes > most)
    return nullptr;
  return &*last;
}

unsigned Archive::next_part(std::uint64_t hour) const {
  unsigned part = 0;
  for (const ArchiveFile& file : files_)
    if (file.name.hour == hour) part = std::max(part, file.name.part);
  return part + 1;
}

// Writes a window to a file. Returns 0 or an errno.
int Archive::write_window(const Snapshot& window, std::string_view block) {
  const HourFile first = hour_file_at(window.window->opened_at.wall_unix_ns);
  if (ArchiveFile* file = file_to_append(first.hour, block.size())) {
    const int failed = append_to_file(directory_.fd(), file_name_of(file->name),
                                      file->complete_bytes, block, options_.sync);
    if (failed == 0) return record_window(*file, window, block);
    // Another process removed or changed the file.
    if (failed != ENOENT && failed != ESTALE && failed != ELOOP && failed != EPERM) return failed;
    file->invalid_reason = "another process changed it";
    is_index_complete_ = false;
  }
  ArchiveFile file;
  file.name = {first.hour, next_part(first.hour)};
  int failed = EEXIST;
  for (int attempt = 0; attempt < 16 && failed == EEXIST; ++attempt, ++file.name.part)
    if (failed = write_new_file(directory_.fd(), file_name_of(file.name), block, options_.sync);
        failed == 0)
      break;
  if (failed != 0) return failed;
  const auto place = std::ranges::lower_bound(files_, file.name, {}, &ArchiveFile::name);
  return record_window(*files_.insert(place, std::move(file)), window, block);
}

// Records a window that was written.
int Archive::record_window(ArchiveFile& file, const Snapshot& window, std::string_view block) {
  file.windows.push_back({file.complete_bytes, block.size(), window.meta.boot_id,
                          window.window->opened_at, window.meta.start});
  file.complete_bytes += block.size();
  ++stored_windows_;
  file.size = file.complete_bytes;
  file.is_truncated = false;
  last_appended_ = file.name;
  add_to_index(file);
  return 0;
}

// Returns the ages of files. Reports once if the wall clock was set far forward.
FileAges Archive::compute_ages(const Snapshot& window, std::vector<std::string>& messages) {
  const Timestamp now{options_.now_unix_ns(), window.meta.start.boottime_ns};
  FileAges ages(files_, {window.meta.boot_id, now, window.window->opened_at},
                options_.rules.max_age_ns);
  const bool is_far = ages.step_ns() > 0;
  if (is_far && !has_reported_step_)
    messages.push_back("the clock was set forward by " + format_duration(ages.step_ns()) +
                       ": the age of earlier recordings does not include this step");
  has_reported_step_ = is_far;
  return ages;
}

void Archive::drop_old(const FileAges& ages, std::vector<std::string>& messages) {
  const std::uint64_t at = options_.now_unix_ns() + options_.time_to_next_window_ns;
  std::vector<HourFile> old;
  for (const std::size_t place : find_too_old(files_, ages, at, options_.rules))
    old.push_back(files_[place].name);
  for (const HourFile& name : old) drop(name, messages);
}

// Drops the oldest files until `bytes` more fit. Returns whether they fit.
bool Archive::drop_for_size(const FileAges& ages, std::uint64_t bytes,
                            std::vector<std::string>& messages) {
  const std::uint64_t most = options_.rules.max_bytes;
  if (bytes_with_window(files_, bytes) <= most) return true;
  for (const HourFile& name : files_by_age(ages)) {
    const std::string file = describe_file(*std::ranges::find(files_, name, &ArchiveFile::name));
    if (!drop(name, messages)) continue;
    messages.push_back("dropped " + file + " to stay within --max-size: less than " +
                       format_duration(options_.rules.max_age_ns) + " is kept");
    if (bytes_with_window(files_, bytes) <= most) return true;
  }
  return false;
}

// Drops the oldest file except the one that is appended to. Returns false if there is none.
bool Archive::drop_for_disk(const FileAges& ages, std::vector<std::string>& messages) {
  const std::vector<HourFile> names = files_by_age(ages);
  for (const HourFile& name : names) {
    if (name == last_appended_.value_or(names.back())) continue;
    const std::string file = describe_file(*std::ranges::find(files_, name, &ArchiveFile::name));
    if (!drop(name, messages)) continue;
    messages.push_back("the disk is full: dropped " + file);
    return true;
  }
  return false;
}

// Deletes a file. A file that cannot be deleted is still counted, and is reported once.
bool Archive::drop(const HourFile& name, std::vector<std::string>& messages) {
  if (::unlinkat(directory_.fd(), file_name_of(name).c_str(), 0) != 0 && errno != ENOENT) {
    const std::string why = std::strerror(errno);
    if (undeletable_.insert(name).second)
      messages.push_back(file_name_of(name) + " could not be dropped: " + why +
                         "; the file remains, and counts toward --max-size");
    return false;
  }
  undeletable_.erase(name);
  std::erase_if(files_, [&](const ArchiveFile& file) { return file.name == name; });
  is_index_complete_ = false;
  return true;
}

std::vector<HourFile> Archive::files_by_age(const FileAges& ages) const {
  std::vector<HourFile> names;
  for (const std::size_t place : ages.sort_by_age(files_)) names.push_back(files_[place].name);
  return names;
}

void Archive::write_index() {
  std::string text;
  for (const ArchiveFile& file : files_)
    for (const ArchivedWindow& window : file.windows) text += index_line(file.name, window);
  is_index_complete_ = replace_file(directory_.fd(), kIndexName, text) == 0;
}

// On failure the index is rewritten later; until then readers read the files instead.
void Archive::add_to_index(const ArchiveFile& file) {
  if (!is_index_complete_) return;
  const std::string line = index_line(file.name, file.windows.back());
  const sdk::Fd index(::openat(directory_.fd(), kIndexName,
                               O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  is_index_complete_ =
      index && ::write(index.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

void Archive::record_missing_window(const Snapshot& window, const std::string& why,
                                    std::vector<std::string>& messages) {
  if (missing_windows_.windows++ == 0) {
    missing_windows_.from_ns = window.window->opened_at.wall_unix_ns;
    messages.push_back(
        "the window of " +
        format_local_times(missing_windows_.from_ns, window.meta.start.wall_unix_ns) +
        " could not be written and is missing: " + why + "; recording continues");
  }
  missing_windows_.until_ns = window.meta.start.wall_unix_ns;
}

void Archive::report_missing(std::vector<std::string>& messages) {
  if (missing_windows_.windows > 0)
    messages.push_back(format_count(missing_windows_.windows, "window") +
                       (missing_windows_.windows == 1 ? " is" : " are") + " missing, " +
                       format_local_times(missing_windows_.from_ns, missing_windows_.until_ns));
  missing_windows_ = {};
}

}  // namespace ctprof

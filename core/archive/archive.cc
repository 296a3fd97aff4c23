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
#include "core/archive/when.hpp"
#include "core/base/own_files.hpp"
#include "core/file/file.hpp"
#include "core/file/layout/limits.hpp"

namespace ctprof {
namespace {

// Limits the files that are dropped for one window when the disk is full, because other programs
// may be filling it.
constexpr std::size_t kMostDroppedForOne = 2;

std::string windows(std::uint64_t count) {
  return count == 1 ? "1 window" : std::to_string(count) + " windows";
}

// Returns for example "20261116T14Z-01.ctprof.zst (60 windows, 2026-11-16 15:00:00 to 2026-11-16
// 16:00:00)".
std::string told_file(const KeptFile& file) {
  std::string text = name_of(file.name);
  if (file.windows.empty()) return text;
  return text + " (" + windows(file.windows.size()) + ", " +
         local_times(file.windows.front().opened.wall_unix_ns,
                     file.windows.back().ended.wall_unix_ns) +
         ")";
}

bool is_full(int number) { return number == ENOSPC || number == EDQUOT; }

}  // namespace

Result<Archive> Archive::open(const std::string& path, ArchiveOptions options) {
  auto directory = Directory::open(path);
  if (!directory) return directory.error();
  if (::flock(directory->fd(), LOCK_EX | LOCK_NB) != 0)
    return errno != EWOULDBLOCK
               ? errno_error("locking the directory", path, errno)
               : error("recording into the directory", path,
                       "another ctprof records into it; stop that one, or name another directory");
  if (const std::string why = why_not_own_directory(path, directory->fd()); !why.empty())
    return error("recording into the directory", path, why);
  const auto has = directory->has_files();
  if (!has) return has.error();
  if (const auto stranger = directory->stranger(); !*has && (!stranger || !stranger->empty()))
    return !stranger ? stranger.error()
                     : error("recording into the directory", path,
                             "it has other files, such as '" + *stranger +
                                 "', and no recordings of --every; name a new or empty directory");
  if (::faccessat(directory->fd(), ".", W_OK, AT_EACCESS) != 0)
    return errno_error("recording into the directory", path, errno);
  Archive archive(std::move(*directory), std::move(options));
  if (auto looked = archive.look(); !looked) return looked.error();
  return archive;
}

Result<void> Archive::look() {
  auto files = directory_.files(Directory::Of::User);
  if (!files) return files.error();
  files_ = std::move(*files);
  for (const KeptFile& file : files_) {
    if (file.torn)
      found_.push_back(name_of(file.name) + " ends with an incomplete window, which is lost");
    if (!file.unread.empty())
      found_.push_back(name_of(file.name) + " cannot be read from byte " +
                       std::to_string(file.whole) + " on: " + file.unread);
  }
  write_index();
  return {};
}

std::vector<std::string> Archive::keep(const Snapshot& window) {
  std::vector<std::string> told;
  const Ages ages = this->ages(window, told);
  drop_old(ages, told);
  const auto block = block_of(window, options_.workers);
  if (!block) return miss(window, block.error().text, told), told;
  last_bytes_ = block->size();
  if (block->size() > options_.rules.most_bytes / 2 || block->size() > limits::kFileBytes)
    return miss(window,
                "it has " + std::to_string(block->size()) + " bytes, too many for --max-size",
                told),
           told;
  if (!make_room(ages, block->size(), told))
    return miss(window, "files that cannot be deleted fill --max-size", told), told;
  int failed = put(window, *block);
  for (std::size_t dropped = 0;
       is_full(failed) && dropped < kMostDroppedForOne && drop_for_disk(ages, told); ++dropped)
    failed = put(window, *block);
  if (failed != 0)
    miss(window, std::strerror(failed), told);
  else
    tell_missing(told);
  if (!index_is_whole_) write_index();
  return told;
}

bool Archive::is_removed() const {
  struct stat status {};
  if (::fstat(directory_.fd(), &status) != 0) return errno == ESTALE || errno == ENOENT;
  return status.st_nlink == 0;
}

std::vector<std::string> Archive::finish() {
  std::vector<std::string> told;
  tell_missing(told);
  return told;
}

// Returns the file to which the window is appended; null if a new file is needed. Only the last
// file of the hour is used, and only if its end is readable and the window fits.
KeptFile* Archive::file_for(std::uint64_t hour, std::uint64_t bytes) {
  const std::uint64_t most =
      std::min<std::uint64_t>(options_.rules.most_bytes / kLeastParts, limits::kFileBytes / 2);
  const auto last = std::find_if(files_.rbegin(), files_.rend(),
                                 [&](const KeptFile& file) { return file.name.hour == hour; });
  if (last == files_.rend() || !last->unread.empty() || last->whole + bytes > most) return nullptr;
  return &*last;
}

unsigned Archive::next_part(std::uint64_t hour) const {
  unsigned part = 0;
  for (const KeptFile& file : files_)
    if (file.name.hour == hour) part = std::max(part, file.name.part);
  return part + 1;
}

// Writes a window to a file. Returns 0 or an errno.
int Archive::put(const Snapshot& window, std::string_view block) {
  const HourFile first = hour_file_at(window.window->opened.wall_unix_ns);
  if (KeptFile* file = file_for(first.hour, block.size())) {
    const int failed =
        append_to_file(directory_.fd(), name_of(file->name), file->whole, block, options_.sync);
    if (failed == 0) return put_into(*file, window, block);
    // The file was removed or changed by somebody else.
    if (failed != ENOENT && failed != ESTALE && failed != ELOOP && failed != EPERM) return failed;
    file->unread = "another process changed it";
    index_is_whole_ = false;
  }
  KeptFile file;
  file.name = {first.hour, next_part(first.hour)};
  int failed = EEXIST;
  for (int attempt = 0; attempt < 16 && failed == EEXIST; ++attempt, ++file.name.part)
    if (failed = write_new_file(directory_.fd(), name_of(file.name), block, options_.sync);
        failed == 0)
      break;
  if (failed != 0) return failed;
  const auto place = std::ranges::lower_bound(files_, file.name, {}, &KeptFile::name);
  return put_into(*files_.insert(place, std::move(file)), window, block);
}

// Records a window that was written.
int Archive::put_into(KeptFile& file, const Snapshot& window, std::string_view block) {
  file.windows.push_back(
      {file.whole, block.size(), window.meta.boot_id, window.window->opened, window.meta.start});
  file.whole += block.size();
  file.size = file.whole;
  file.torn = false;
  added_to_ = file.name;
  add_to_index(file);
  return 0;
}

// Returns the ages of files. Reports once if the wall clock was set far forward.
Ages Archive::ages(const Snapshot& window, std::vector<std::string>& told) {
  const Moment now{options_.now_unix_ns(), window.meta.start.boottime_ns};
  Ages ages(files_, {window.meta.boot_id, now, window.window->opened}, options_.rules.keep_ns);
  const bool is_far = ages.step_ns() > 0;
  if (is_far && !told_step_)
    told.push_back("the clock was set forward by " + how_long(ages.step_ns()) +
                   ": what was recorded before is kept as long as if it had not been");
  told_step_ = is_far;
  return ages;
}

void Archive::drop_old(const Ages& ages, std::vector<std::string>& told) {
  const std::uint64_t at = options_.now_unix_ns() + options_.ahead_ns;
  std::vector<HourFile> old;
  for (const std::size_t place : too_old(files_, ages, at, options_.rules))
    old.push_back(files_[place].name);
  for (const HourFile& name : old) drop(name, told);
}

// Drops the oldest files until `bytes` more fit. Returns whether they fit.
bool Archive::make_room(const Ages& ages, std::uint64_t bytes, std::vector<std::string>& told) {
  const std::uint64_t most = options_.rules.most_bytes;
  if (bytes_with(files_, bytes) <= most) return true;
  for (const HourFile& name : by_age(ages)) {
    const std::string file = told_file(*std::ranges::find(files_, name, &KeptFile::name));
    if (!drop(name, told)) continue;
    told.push_back("dropped " + file + " to stay within --max-size: less than " +
                   how_long(options_.rules.keep_ns) + " is kept");
    if (bytes_with(files_, bytes) <= most) return true;
  }
  return false;
}

// Drops the oldest file except the one that is appended to. Returns false if there is none.
bool Archive::drop_for_disk(const Ages& ages, std::vector<std::string>& told) {
  const std::vector<HourFile> names = by_age(ages);
  for (const HourFile& name : names) {
    if (name == added_to_.value_or(names.back())) continue;
    const std::string file = told_file(*std::ranges::find(files_, name, &KeptFile::name));
    if (!drop(name, told)) continue;
    told.push_back("the disk is full: dropped " + file);
    return true;
  }
  return false;
}

// Deletes a file. A file that cannot be deleted is still counted, and is reported once.
bool Archive::drop(const HourFile& name, std::vector<std::string>& told) {
  if (::unlinkat(directory_.fd(), name_of(name).c_str(), 0) != 0 && errno != ENOENT) {
    const std::string why = std::strerror(errno);
    if (stuck_.insert(name).second)
      told.push_back(name_of(name) + " could not be dropped: " + why +
                     "; it stays, and counts for --max-size");
    return false;
  }
  stuck_.erase(name);
  std::erase_if(files_, [&](const KeptFile& file) { return file.name == name; });
  index_is_whole_ = false;
  return true;
}

std::vector<HourFile> Archive::by_age(const Ages& ages) const {
  std::vector<HourFile> names;
  for (const std::size_t place : ages.by_age(files_)) names.push_back(files_[place].name);
  return names;
}

void Archive::write_index() {
  std::string text;
  for (const KeptFile& file : files_)
    for (const KeptWindow& window : file.windows) text += index_line(file.name, window);
  index_is_whole_ = replace_file(directory_.fd(), kIndexName, text) == 0;
}

// On failure the index is rewritten later; until then readers read the files instead.
void Archive::add_to_index(const KeptFile& file) {
  if (!index_is_whole_) return;
  const std::string line = index_line(file.name, file.windows.back());
  const sdk::Fd index(::openat(directory_.fd(), kIndexName,
                               O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  index_is_whole_ =
      index && ::write(index.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

void Archive::miss(const Snapshot& window, const std::string& why, std::vector<std::string>& told) {
  if (missing_.windows++ == 0) {
    missing_.from_ns = window.window->opened.wall_unix_ns;
    told.push_back("the window of " +
                   local_times(missing_.from_ns, window.meta.start.wall_unix_ns) +
                   " could not be written and is missing: " + why + "; recording continues");
  }
  missing_.until_ns = window.meta.start.wall_unix_ns;
}

void Archive::tell_missing(std::vector<std::string>& told) {
  if (missing_.windows > 0)
    told.push_back(windows(missing_.windows) + (missing_.windows == 1 ? " is" : " are") +
                   " missing, " + local_times(missing_.from_ns, missing_.until_ns));
  missing_ = {};
}

}  // namespace ctprof

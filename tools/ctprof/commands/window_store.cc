#include "tools/ctprof/commands/window_store.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/archive/archive.hpp"
#include "core/archive/time_text.hpp"
#include "core/file/columns/memory_limit.hpp"
#include "core/file/file.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/write/destination.hpp"
#include "core/file/write/out_file.hpp"
#include "core/render/terminal_text.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/privileges.hpp"
#include "tools/ctprof/runtime/signals.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

// Permissions of a new directory.
constexpr mode_t kOnlyOwnerWrites = 0755;

Result<void> make_archive_directory(const std::string& path) {
  return without_privileges([&]() -> Result<void> {
    if (::mkdir(path.c_str(), kOnlyOwnerWrites) == 0 || errno == EEXIST) return {};
    return errno_error("making the directory", path, errno);
  });
}

Result<Archive> open_archive(const RecordCommandOptions& options) {
  std::optional<Archive> archive;
  ArchiveOptions archive_options;
  archive_options.rules = options.continuous.rules;
  archive_options.time_to_next_window_ns = options.continuous.every_ns;
  archive_options.sync = options.sync;
  archive_options.workers = options.jobs;
  CTPROF_TRY(without_privileges([&]() -> Result<void> {
    auto result = Archive::open(options.output, archive_options);
    if (!result) return result.error();
    archive.emplace(std::move(*result));
    return {};
  }));
  return std::move(*archive);
}

// "7 d, at most 2.0 GiB"
std::string describe_rules(const RetentionRules& rules) {
  return format_duration(rules.max_age_ns) + ", at most " + format_size(rules.max_bytes);
}

class ArchiveStore final : public WindowStore {
 public:
  ArchiveStore(const RecordCommandOptions& options, Archive archive)
      : options_(options), archive_(std::move(archive)) {}

  Result<void> add(const Snapshot& window) override {
    note_all(archive_.add(window));
    if (!archive_.is_removed()) return {};
    return error("recording into the directory", options_.output,
                 "it was removed; create it and restart the recording");
  }
  Result<void> finish() override {
    note_all(archive_.finish());
    if (archive_.stored_windows() > 0) return {};
    return error("recording into the directory", options_.output, "no window could be stored");
  }
  // Each window is already stored.
  Result<void> commit_after_error() override { return {}; }
  std::uint64_t last_bytes() const override { return archive_.last_bytes(); }
  std::string limits() const override {
    return "; keeps " + describe_rules(options_.continuous.rules);
  }
  std::string interrupt_loss() const override {
    return "the last window may be missing from '" + make_printable_short(options_.output) + "'";
  }

  void note_all(const std::vector<std::string>& sentences) const {
    for (const std::string& sentence : sentences) print_note(options_, sentence);
  }

 private:
  const RecordCommandOptions& options_;
  Archive archive_;
};

class FileStore final : public WindowStore {
 public:
  // `file` was created at the target's destination. The target outlives it.
  FileStore(const RecordCommandOptions& options, std::unique_ptr<Target> target, OutFile file)
      : options_(options), target_(std::move(target)), file_(std::move(file)) {}

  // Adds neither a block that a reader would refuse nor a partly written block.
  Result<void> add(const Snapshot& window) override {
    CTPROF_TRY_VALUE(const auto block, serialize_block(window, options_.jobs));
    memory_ += columns::estimate_memory(window);
    if (file_.bytes() + block.size() > limits::kFileBytes || memory_ > limits::kMemory)
      return error("recording into", target_->name,
                   "with the next window the file would exceed the maximum size; record into a "
                   "directory with -o DIR");
    const std::uint64_t complete_bytes = file_.bytes();
    if (auto done = file_.write(block); !done) {
      truncate_file(complete_bytes);
      return done;
    }
    last_bytes_ = block.size();
    ++windows_;
    return {};
  }
  Result<void> finish() override {
    set_interrupt_loss(describe_partial_write(*target_));
    CTPROF_TRY(file_.commit(options_.sync));
    set_interrupt_loss({});
    if (!options_.quiet)
      print_to_stderr(format_count(windows_, "window") + "; " + make_printable(target_->name) +
                      ", " + format_size(file_.bytes()) + "\n");
    return {};
  }
  Result<void> commit_after_error() override { return windows_ > 0 ? finish() : Result<void>(); }
  std::uint64_t last_bytes() const override { return last_bytes_; }
  std::string limits() const override { return {}; }
  std::string interrupt_loss() const override {
    if (target_->destination.kind() == Destination::Kind::File) return describe_unwritten(*target_);
    return "'" + make_printable_short(target_->name) + "' is incomplete";
  }

 private:
  // Has no effect on a stream, which keeps the bytes.
  void truncate_file(std::uint64_t bytes) {
    if (::ftruncate(file_.descriptor(), static_cast<off_t>(bytes)) != 0) return;
    ::lseek(file_.descriptor(), static_cast<off_t>(bytes), SEEK_SET);
    file_.read_size();
  }

  const RecordCommandOptions& options_;
  std::unique_ptr<Target> target_;
  OutFile file_;
  std::uint64_t last_bytes_ = 0, windows_ = 0;
  std::size_t memory_ = 0;
};

Result<std::unique_ptr<WindowStore>> open_file_store(const RecordCommandOptions& options) {
  CTPROF_TRY_VALUE(auto target, open_checked_target(options));
  // The file refers to its destination, so the target is moved to its final place first.
  auto stored_target = std::make_unique<Target>(std::move(target));
  std::optional<OutFile> file;
  CTPROF_TRY(without_privileges([&]() -> Result<void> {
    auto created = OutFile::create(stored_target->destination);
    if (!created) return created.error();
    file.emplace(std::move(*created));
    return {};
  }));
  return std::unique_ptr<WindowStore>(
      std::make_unique<FileStore>(options, std::move(stored_target), std::move(*file)));
}

Result<std::unique_ptr<WindowStore>> open_archive_store(const RecordCommandOptions& options) {
  CTPROF_TRY(make_archive_directory(options.output));
  CTPROF_TRY_VALUE(auto archive, open_archive(options));
  const std::vector<std::string> notes = archive.open_messages();
  auto store = std::make_unique<ArchiveStore>(options, std::move(archive));
  store->note_all(notes);
  return std::unique_ptr<WindowStore>(std::move(store));
}

}  // namespace

bool records_one_file(const RecordCommandOptions& options) {
  return options.duration_ns > 0 && options.output.ends_with(kFileSuffix);
}

Result<void> check_store(const RecordCommandOptions& options) {
  if (options.output.ends_with(kFileSuffix) && options.duration_ns == 0)
    return Error{"--every into a file requires --duration; without it, name a directory by -o"};
  if (records_one_file(options) && options.continuous.dry_run)
    return Error{"--dry-run requires -o DIR"};
  return {};
}

Result<std::unique_ptr<WindowStore>> open_store(const RecordCommandOptions& options) {
  return records_one_file(options) ? open_file_store(options) : open_archive_store(options);
}

}  // namespace ctprof::cli

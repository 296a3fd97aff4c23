#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <functional>
#include <new>

#include "core/base/workers.hpp"
#include "core/file/captures.hpp"
#include "core/file/columns/read_columns.hpp"
#include "core/file/file.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/read/load.hpp"
#include "core/file/read/rows_reader.hpp"
#include "core/file/read/snapshot_builder.hpp"
#include "core/file/read/text_source.hpp"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kMagic = "\x28\xb5\x2f\xfd";  // begins a zstd frame
// Begins a skippable frame, after a byte of any value.
constexpr std::string_view kSkippable = "\x2a\x4d\x18";
constexpr std::size_t kBytesPerRead = 1024 * 1024;
// For a file up to this size, all memory is reserved at once; pages are only used as they are
// filled.
constexpr std::size_t kMaxReservedBytes = 32 * 1024 * 1024;

using MakeSource = std::function<std::unique_ptr<TextSource>()>;

// Reads a file with its own registry, wherever in the file that is.
Result<Snapshot> read(const MakeSource& make_source, const Vocabulary& vocabulary) {
  const auto pass = [&](PassOptions options, SnapshotBuilder& builder) {
    const auto source = make_source();
    return read_rows(*source, vocabulary, std::move(options), builder);
  };
  auto builder = std::make_unique<SnapshotBuilder>();
  PassResult end = pass({}, *builder);
  if (end.is_content_error && !end.registry && !builder->has_own_registry) {
    SnapshotBuilder unused_builder;
    end.registry = pass({.registry = {}, .only_find_registry = true}, unused_builder).registry;
  }
  if (end.registry) {
    builder = std::make_unique<SnapshotBuilder>();
    end = pass({.registry = std::move(end.registry), .only_find_registry = false}, *builder);
  }
  if (!end.failure.empty()) return Error{end.failure};
  auto snapshot = finish_snapshot(*builder);
  if (snapshot) snapshot->text_bytes = builder->budget.text_bytes;
  return snapshot;
}

// Reads like read(). Each error begins with the action and the name.
Result<Snapshot> read_with_named_errors(const MakeSource& make_source, const std::string& name,
                                        const Vocabulary& vocabulary) {
  try {
    auto snapshot = read(make_source, vocabulary);
    return snapshot ? std::move(snapshot)
                    : Result<Snapshot>(error("reading", name, snapshot.error().text));
  } catch (const std::bad_alloc&) {
    return error("reading", name, "not enough memory");
  }
}

// Returns messages about data at the end of a file that is skipped.
std::vector<std::string> end_messages(const std::string& skip_reason, bool is_truncated,
                                      const std::string& path) {
  std::vector<std::string> messages;
  if (!skip_reason.empty())
    messages.push_back("'" + path + "' continues with data that is skipped: " + skip_reason);
  if (is_truncated)
    messages.push_back("'" + path + "' ends with an incomplete capture, which is skipped");
  return messages;
}

// Returns messages about a file, for the user.
std::vector<std::string> block_messages(const columns::Block& block, const CaptureName& name) {
  std::vector<std::string> messages =
      end_messages(block.invalid_reason, block.is_truncated, name.path);
  if (block.complete_blocks > 1 && !name.has_number)
    messages.insert(messages.begin(),
                    "'" + name.path + "' holds " + std::to_string(block.complete_blocks) +
                        " captures, of which the first is read; '" + name.path + "#2' is the next");
  return messages;
}

// Reads one capture of a file in columns, which may hold several.
Result<Snapshot> read_columns(std::string_view zstd, const CaptureName& name) {
  try {
    auto block = columns::read_block(zstd, name.number, count_spare_workers());
    if (!block) return error("reading", name.path, block.error().text);
    block->snapshot.load_messages = block_messages(*block, name);
    return std::move(block->snapshot);
  } catch (const std::bad_alloc&) {
    return error("reading", name.path, "not enough memory");
  }
}

std::vector<Snapshot> as_single_run(Snapshot snapshot) {
  std::vector<Snapshot> runs;
  runs.push_back(std::move(snapshot));
  return runs;
}

// Returns all windows of a file in columns that begins with a window; otherwise its first capture.
Result<std::vector<Snapshot>> read_runs(std::string_view zstd, const CaptureName& name) {
  CTPROF_TRY_VALUE(auto first, read_columns(zstd, name));
  if (!first.window) return as_single_run(std::move(first));
  try {
    auto windows = columns::read_windows(zstd, std::move(first), count_spare_workers());
    if (!windows) return error("reading", name.path, windows.error().text);
    windows->snapshots.front().load_messages =
        end_messages(windows->invalid_reason, windows->is_truncated, name.path);
    return std::move(windows->snapshots);
  } catch (const std::bad_alloc&) {
    return error("reading", name.path, "not enough memory");
  }
}

bool is_zstd(std::string_view bytes) {
  return bytes.starts_with(kMagic) || (bytes.size() > 1 && bytes.substr(1).starts_with(kSkippable));
}

// Returns why the bytes cannot begin a snapshot; empty if they can. Checks only the first bytes.
std::string format_error(std::string_view bytes) {
  if (bytes.empty()) return "the file is empty";
  return is_zstd(bytes) ? ""
                        : "it is not a ctprof file, because it does not begin with a zstd header";
}

std::string too_large() { return "larger than " + std::to_string(limits::kFileBytes) + " bytes"; }

// Returns the number of bytes to read. For a regular file this is its size when it is opened, even
// if another process appends to it. For any other file the size is unknown.
std::size_t max_bytes_to_read(int file) {
  struct stat status {};
  const bool has_size =
      ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  return has_size ? static_cast<std::size_t>(status.st_size) : limits::kFileBytes + 1;
}

// Appends the data of one read(). Returns false at the end.
Result<bool> read_more(const sdk::Fd& file, const std::string& path, std::size_t most,
                       std::string& bytes) {
  const std::size_t size = bytes.size();
  if (size == most) return false;
  bytes.resize(std::min(most, size + kBytesPerRead));
  ssize_t count = 0;
  do count = ::read(file.get(), bytes.data() + size, bytes.size() - size);
  while (count < 0 && errno == EINTR);
  bytes.resize(size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  if (count < 0) return errno_error("reading", path, errno);
  return count > 0;
}

Result<void> read_bytes(const sdk::Fd& file, const std::string& path, std::string& bytes) {
  const std::size_t most = max_bytes_to_read(file.get());
  bytes.reserve(std::min(most, kMaxReservedBytes));
  for (bool is_checked = false;;) {
    CTPROF_TRY_VALUE(const auto more, read_more(file, path, most, bytes));
    if (bytes.size() > limits::kFileBytes || (most > limits::kFileBytes + 1))
      return error("reading", path, too_large());
    if (!is_checked && (bytes.size() >= kMagic.size() || !more)) {
      if (const std::string why = format_error(bytes); !why.empty())
        return error("reading", path, why);
      is_checked = true;
    }
    if (!more) return {};
  }
}

Result<void> read_bytes(const std::string& path, std::string& bytes) {
  const sdk::Fd file(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return errno_error("reading", path, errno);
  return read_bytes(file, path, bytes);
}

// Reads a regular file and nothing else. O_NONBLOCK and O_NOCTTY make the open safe if a pipe or
// device has replaced the file: it does not block, and does not acquire a terminal.
Result<void> read_file_bytes(const std::string& path, std::string& bytes) {
  const sdk::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return errno_error("reading", path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return errno_error("reading", path, errno);
  if (!S_ISREG(status.st_mode)) return error("reading", path, "it is not a regular file");
  return read_bytes(file, path, bytes);
}

}  // namespace

CaptureName parse_capture_name(const std::string& argument) {
  const auto hash = argument.rfind('#');
  if (hash == argument.npos || ::access(argument.c_str(), F_OK) == 0) return {.path = argument};
  const char *const digits = argument.data() + hash + 1, *const end =
                                                             digits + argument.size() - hash - 1;
  CaptureName name{.path = argument.substr(0, hash), .has_number = true};
  const auto [stop, code] = std::from_chars(digits, end, name.number);
  return code == std::errc{} && stop == end ? name : CaptureName{.path = argument};
}

Result<Snapshot> load_text(std::string_view json, const std::string& name,
                           const Vocabulary& vocabulary, std::size_t slice_bytes) {
  return read_with_named_errors([&] { return std::make_unique<PlainText>(json, slice_bytes); },
                                name, vocabulary);
}

Result<Snapshot> load_bytes(std::string_view zstd, const CaptureName& name,
                            const Vocabulary& vocabulary) {
  if (const std::string why = format_error(zstd); !why.empty())
    return error("reading", name.path, why);
  if (columns::is_columns(zstd)) return read_columns(zstd, name);
  if (name.number != 1)
    return error("reading", name.path,
                 "it has no capture " + std::to_string(name.number) + "; its last capture is 1");
  auto snapshot = read_with_named_errors([&] { return std::make_unique<DecompressedText>(zstd); },
                                         name.path, vocabulary);
  // Text that exceeds the compression of real files does not count: the work that is allowed later
  // must not exceed that for a file of this size with ordinary contents.
  if (snapshot)
    snapshot->text_bytes = std::min(snapshot->text_bytes, limits::kTextPerByte * zstd.size());
  return snapshot;
}

Result<Snapshot> load_file(const std::string& argument, const Vocabulary& vocabulary) {
  const CaptureName name = parse_capture_name(argument);
  try {
    std::string bytes;
    CTPROF_TRY(read_bytes(name.path, bytes));
    return load_bytes(bytes, name, vocabulary);
  } catch (const std::bad_alloc&) {
    return error("reading", name.path, "not enough memory");
  }
}

Result<std::optional<Snapshot>> load_outline(const std::string& path) {
  try {
    std::string bytes;
    CTPROF_TRY(read_bytes(path, bytes));
    if (!columns::is_columns(bytes)) return std::nullopt;
    auto outline = columns::read_outline(bytes);
    return outline ? std::move(outline) : error("reading", path, outline.error().text);
  } catch (const std::bad_alloc&) {
    return error("reading", path, "not enough memory");
  }
}

Result<std::vector<Snapshot>> load_runs(const std::string& argument, const Vocabulary& vocabulary) {
  const CaptureName name = parse_capture_name(argument);
  try {
    std::string bytes;
    CTPROF_TRY(read_bytes(name.path, bytes));
    if (!name.has_number && columns::is_columns(bytes)) return read_runs(bytes, name);
    auto snapshot = load_bytes(bytes, name, vocabulary);
    return snapshot ? as_single_run(std::move(*snapshot))
                    : Result<std::vector<Snapshot>>(snapshot.error());
  } catch (const std::bad_alloc&) {
    return error("reading", name.path, "not enough memory");
  }
}

namespace {

using Messages = std::vector<std::string>;

Result<Messages> consume_capture(Result<Snapshot> capture, const CaptureConsumer& take) {
  if (!capture) return capture.error();
  CTPROF_TRY(take(std::move(*capture)));
  return Messages{};
}

Result<Messages> consume_blocks(std::string_view zstd, const std::string& path, unsigned workers,
                                const CaptureConsumer& take) {
  Result<void> taken;
  const auto read = columns::read_all_blocks(zstd, workers, [&](Snapshot capture) {
    taken = take(std::move(capture));
    return taken.has_value();
  });
  if (!taken) return taken.error();
  if (!read) return error("reading", path, read.error().text);
  return end_messages(read->invalid_reason, read->is_truncated, path);
}

}  // namespace

Result<Messages> load_captures_of_file(const std::string& path, const Vocabulary& vocabulary,
                                       const CaptureConsumer& consume) {
  try {
    std::string bytes;
    CTPROF_TRY(read_file_bytes(path, bytes));
    if (columns::is_columns(bytes)) return consume_blocks(bytes, path, 1, consume);
    return consume_capture(load_bytes(bytes, {.path = path}, vocabulary), consume);
  } catch (const std::bad_alloc&) {
    return error("reading", path, "not enough memory");
  }
}

Result<Messages> load_captures_of_argument(const std::string& argument,
                                           const Vocabulary& vocabulary,
                                           const CaptureConsumer& consume) {
  const CaptureName name = parse_capture_name(argument);
  try {
    std::string bytes;
    CTPROF_TRY(read_bytes(name.path, bytes));
    if (!name.has_number && columns::is_columns(bytes))
      return consume_blocks(bytes, name.path, count_spare_workers(), consume);
    return consume_capture(load_bytes(bytes, name, vocabulary), consume);
  } catch (const std::bad_alloc&) {
    return error("reading", name.path, "not enough memory");
  }
}

}  // namespace ctprof

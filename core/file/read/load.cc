#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <functional>
#include <new>

#include "core/base/workers.hpp"
#include "core/file/columns/read_columns.hpp"
#include "core/file/each.hpp"
#include "core/file/file.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/read/draft.hpp"
#include "core/file/read/load.hpp"
#include "core/file/read/read_pass.hpp"
#include "ctprof/files.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kMagic = "\x28\xb5\x2f\xfd";  // begins a zstd frame
constexpr std::string_view kSkippable =
    "\x2a\x4d\x18";  // begins a skippable frame, after a byte of any value
constexpr std::size_t kReadAtOnce = 1024 * 1024;
// For a file up to this size, all memory is reserved at once; pages are only used as they are
// filled.
constexpr std::size_t kReadWithoutMoving = 32 * 1024 * 1024;

using MakeSource = std::function<std::unique_ptr<TextSource>()>;

// Reads a file with its own registry, wherever in the file that is.
Result<Snapshot> read(const MakeSource& make_source, const Vocabulary& vocabulary) {
  const auto pass = [&](PassOptions options, Draft& draft) {
    const auto source = make_source();
    return read_pass(*source, vocabulary, std::move(options), draft);
  };
  auto draft = std::make_unique<Draft>();
  PassEnd end = pass({}, *draft);
  if (end.is_contents && !end.registry && !draft->has_own_registry) {
    Draft nothing;
    end.registry = pass({.registry = {}, .only_registry = true}, nothing).registry;
  }
  if (end.registry) {
    draft = std::make_unique<Draft>();
    end = pass({.registry = std::move(end.registry), .only_registry = false}, *draft);
  }
  if (!end.failure.empty()) return Error{end.failure};
  auto snapshot = settle(*draft);
  if (snapshot) snapshot->text_bytes = draft->budget.text;
  return snapshot;
}

Result<Snapshot> read_named(const MakeSource& make_source, const std::string& name,
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
std::vector<std::string> told_of_end(const std::string& unread, bool torn,
                                     const std::string& path) {
  std::vector<std::string> told;
  if (!unread.empty())
    told.push_back("'" + path + "' continues with data that is skipped: " + unread);
  if (torn) told.push_back("'" + path + "' ends with an incomplete capture, which is skipped");
  return told;
}

// Returns messages about a file, for the user.
std::vector<std::string> told_of(const columns::Block& block, const CaptureName& name) {
  std::vector<std::string> told = told_of_end(block.unread, block.torn, name.path);
  if (block.whole > 1 && !name.is_chosen)
    told.insert(told.begin(), "'" + name.path + "' holds " + std::to_string(block.whole) +
                                  " captures, of which the first is read; '" + name.path +
                                  "#2' is the next");
  return told;
}

// Reads one capture of a file in columns, which may hold several.
Result<Snapshot> read_columns(std::string_view zstd, const CaptureName& name) {
  try {
    auto block = columns::read_block(zstd, name.number, spare_workers());
    if (!block) return error("reading", name.path, block.error().text);
    block->snapshot.told = told_of(*block, name);
    return std::move(block->snapshot);
  } catch (const std::bad_alloc&) {
    return error("reading", name.path, "not enough memory");
  }
}

std::vector<Snapshot> only(Snapshot snapshot) {
  std::vector<Snapshot> runs;
  runs.push_back(std::move(snapshot));
  return runs;
}

// Returns all windows of a file in columns that begins with a window; otherwise its first capture.
Result<std::vector<Snapshot>> read_runs(std::string_view zstd, const CaptureName& name) {
  auto first = read_columns(zstd, name);
  if (!first) return first.error();
  if (!first->window) return only(std::move(*first));
  try {
    auto windows = columns::read_windows(zstd, std::move(*first), spare_workers());
    if (!windows) return error("reading", name.path, windows.error().text);
    windows->snapshots.front().told = told_of_end(windows->unread, windows->torn, name.path);
    return std::move(windows->snapshots);
  } catch (const std::bad_alloc&) {
    return error("reading", name.path, "not enough memory");
  }
}

bool is_zstd(std::string_view bytes) {
  return bytes.starts_with(kMagic) || (bytes.size() > 1 && bytes.substr(1).starts_with(kSkippable));
}

// Returns why the bytes cannot begin a snapshot; empty if they can. Checks only the first bytes.
std::string objection_to(std::string_view bytes) {
  if (bytes.empty()) return "the file is empty";
  return is_zstd(bytes) ? "" : "not a snapshot: it does not begin as zstd data does";
}

std::string too_large() { return "larger than " + std::to_string(limits::kFileBytes) + " bytes"; }

// Returns the number of bytes to read. For a regular file this is its size when it is opened, even
// if another process appends to it. For any other file the size is unknown.
std::size_t most_bytes(int file) {
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
  bytes.resize(std::min(most, size + kReadAtOnce));
  ssize_t got = 0;
  do got = ::read(file.get(), bytes.data() + size, bytes.size() - size);
  while (got < 0 && errno == EINTR);
  bytes.resize(size + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0) return errno_error("reading", path, errno);
  return got > 0;
}

Result<void> read_bytes(const sdk::Fd& file, const std::string& path, std::string& bytes) {
  const std::size_t most = most_bytes(file.get());
  bytes.reserve(std::min(most, kReadWithoutMoving));
  for (bool judged = false;;) {
    const auto more = read_more(file, path, most, bytes);
    if (!more) return more.error();
    if (bytes.size() > limits::kFileBytes || (most > limits::kFileBytes + 1))
      return error("reading", path, too_large());
    if (!judged && (bytes.size() >= kMagic.size() || !*more)) {
      if (const std::string why = objection_to(bytes); !why.empty())
        return error("reading", path, why);
      judged = true;
    }
    if (!*more) return {};
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
  if (!S_ISREG(status.st_mode)) return error("reading", path, "it is no file");
  return read_bytes(file, path, bytes);
}

}  // namespace

CaptureName name_of_capture(const std::string& argument) {
  const auto hash = argument.rfind('#');
  if (hash == argument.npos || ::access(argument.c_str(), F_OK) == 0) return {.path = argument};
  const char *const digits = argument.data() + hash + 1, *const end =
                                                             digits + argument.size() - hash - 1;
  CaptureName name{.path = argument.substr(0, hash), .is_chosen = true};
  const auto [stop, code] = std::from_chars(digits, end, name.number);
  return code == std::errc{} && stop == end ? name : CaptureName{.path = argument};
}

Result<Snapshot> load_text(std::string_view json, const std::string& name,
                           const Vocabulary& vocabulary, std::size_t slice_bytes) {
  return read_named([&] { return std::make_unique<PlainText>(json, slice_bytes); }, name,
                    vocabulary);
}

Result<Snapshot> load_bytes(std::string_view zstd, const CaptureName& name,
                            const Vocabulary& vocabulary) {
  if (const std::string why = objection_to(zstd); !why.empty())
    return error("reading", name.path, why);
  if (columns::is_columns(zstd)) return read_columns(zstd, name);
  if (name.number != 1)
    return error("reading", name.path,
                 "it has no capture " + std::to_string(name.number) + ": it holds 1");
  auto snapshot =
      read_named([&] { return std::make_unique<UnfoldedText>(zstd); }, name.path, vocabulary);
  // Text that exceeds the compression of real files does not count: the work that is allowed later
  // must not exceed that for a file of this size with ordinary contents.
  if (snapshot)
    snapshot->text_bytes = std::min(snapshot->text_bytes, limits::kExpansion * zstd.size());
  return snapshot;
}

Result<Snapshot> load_file(const std::string& argument, const Vocabulary& vocabulary) {
  const CaptureName name = name_of_capture(argument);
  try {
    std::string bytes;
    if (auto done = read_bytes(name.path, bytes); !done) return done.error();
    return load_bytes(bytes, name, vocabulary);
  } catch (const std::bad_alloc&) {
    return error("reading", name.path, "not enough memory");
  }
}

Result<std::optional<Snapshot>> load_outline(const std::string& path) {
  try {
    std::string bytes;
    if (auto done = read_bytes(path, bytes); !done) return done.error();
    if (!columns::is_columns(bytes)) return std::nullopt;
    auto outline = columns::read_outline(bytes);
    return outline ? std::move(outline) : error("reading", path, outline.error().text);
  } catch (const std::bad_alloc&) {
    return error("reading", path, "not enough memory");
  }
}

Result<std::vector<Snapshot>> load_runs(const std::string& argument, const Vocabulary& vocabulary) {
  const CaptureName name = name_of_capture(argument);
  try {
    std::string bytes;
    if (auto done = read_bytes(name.path, bytes); !done) return done.error();
    if (!name.is_chosen && columns::is_columns(bytes)) return read_runs(bytes, name);
    auto snapshot = load_bytes(bytes, name, vocabulary);
    return snapshot ? only(std::move(*snapshot)) : Result<std::vector<Snapshot>>(snapshot.error());
  } catch (const std::bad_alloc&) {
    return error("reading", name.path, "not enough memory");
  }
}

namespace {

using Told = std::vector<std::string>;

Result<Told> take_only(Result<Snapshot> capture, const TakeCapture& take) {
  if (!capture) return capture.error();
  if (auto taken = take(std::move(*capture)); !taken) return taken.error();
  return Told{};
}

Result<Told> take_blocks(std::string_view zstd, const std::string& path, unsigned workers,
                         const TakeCapture& take) {
  Result<void> taken;
  const auto read = columns::read_each(zstd, workers, [&](Snapshot capture) {
    taken = take(std::move(capture));
    return taken.has_value();
  });
  if (!taken) return taken.error();
  if (!read) return error("reading", path, read.error().text);
  return told_of_end(read->unread, read->torn, path);
}

}  // namespace

Result<Told> load_each(const std::string& path, const Vocabulary& vocabulary,
                       const TakeCapture& take) {
  try {
    std::string bytes;
    if (auto done = read_file_bytes(path, bytes); !done) return done.error();
    if (columns::is_columns(bytes)) return take_blocks(bytes, path, 1, take);
    return take_only(load_bytes(bytes, {.path = path}, vocabulary), take);
  } catch (const std::bad_alloc&) {
    return error("reading", path, "not enough memory");
  }
}

Result<Told> take_captures(const std::string& argument, const Vocabulary& vocabulary,
                           const TakeCapture& take) {
  const CaptureName name = name_of_capture(argument);
  try {
    std::string bytes;
    if (auto done = read_bytes(name.path, bytes); !done) return done.error();
    if (!name.is_chosen && columns::is_columns(bytes))
      return take_blocks(bytes, name.path, spare_workers(), take);
    return take_only(load_bytes(bytes, name, vocabulary), take);
  } catch (const std::bad_alloc&) {
    return error("reading", name.path, "not enough memory");
  }
}

}  // namespace ctprof

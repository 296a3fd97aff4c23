#include "core/file/capture_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "core/base/workers.hpp"
#include "core/file/columns/read_columns.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/read/file_bytes.hpp"
#include "core/file/read/load_text.hpp"
#include "core/file/read/rows_reader.hpp"
#include "core/file/read/snapshot_builder.hpp"
#include "core/file/read/text_source.hpp"

namespace ctprof {
namespace {

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
                        " captures; the first one is read; '" + name.path + "#2' is the next");
  return messages;
}

// Reads one capture of a columns file, which may hold several.
Result<Snapshot> read_columns(std::string_view zstd, const CaptureName& name) {
  auto block = columns::read_block(zstd, name.number, count_spare_workers());
  if (!block) return error("reading", name.path, block.error().text);
  block->snapshot.load_messages = block_messages(*block, name);
  return std::move(block->snapshot);
}

std::vector<Snapshot> as_single_run(Snapshot snapshot) {
  std::vector<Snapshot> runs;
  runs.push_back(std::move(snapshot));
  return runs;
}

// Returns all windows of a columns file that begins with a window; otherwise its first capture.
Result<std::vector<Snapshot>> read_runs(std::string_view zstd, const CaptureName& name) {
  CTPROF_TRY_VALUE(auto first, read_columns(zstd, name));
  if (!first.window) return as_single_run(std::move(first));
  auto windows = columns::read_windows(zstd, std::move(first), count_spare_workers());
  if (!windows) return error("reading", name.path, windows.error().text);
  windows->snapshots.front().load_messages =
      end_messages(windows->invalid_reason, windows->is_truncated, name.path);
  return std::move(windows->snapshots);
}

}  // namespace

Result<Snapshot> load_text(std::string_view json, const std::string& name,
                           const Vocabulary& vocabulary, std::size_t slice_bytes) {
  return read_with_named_errors([&] { return std::make_unique<PlainText>(json, slice_bytes); },
                                name, vocabulary);
}

CaptureName parse_capture_name(const std::string& argument) {
  const auto hash = argument.rfind('#');
  if (hash == argument.npos || ::access(argument.c_str(), F_OK) == 0) return {.path = argument};
  const char *const digits = argument.data() + hash + 1, *const end =
                                                             digits + argument.size() - hash - 1;
  CaptureName name{.path = argument.substr(0, hash), .has_number = true};
  const auto [stop, code] = std::from_chars(digits, end, name.number);
  return code == std::errc{} && stop == end ? name : CaptureName{.path = argument};
}

namespace {

Result<Snapshot> load_capture(std::string_view zstd, const CaptureName& name,
                              const Vocabulary& vocabulary) {
  if (const std::string why = find_format_error(zstd); !why.empty())
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

// Calls `load`, and converts a lack of memory to an error about the file.
template <class Load>
auto catch_lack_of_memory(const std::string& path, const Load& load) -> decltype(load()) {
  try {
    return load();
  } catch (const std::bad_alloc&) {
    return error("reading", path, "not enough memory");
  }
}

using Messages = std::vector<std::string>;

Result<Messages> consume_blocks(std::string_view zstd, const std::string& path, unsigned workers,
                                const CaptureConsumer& consume) {
  Result<void> consumed;
  const auto read = columns::read_all_blocks(zstd, workers, [&](Snapshot capture) {
    consumed = consume(std::move(capture));
    return consumed.has_value();
  });
  if (!consumed) return consumed.error();
  if (!read) return error("reading", path, read.error().text);
  return end_messages(read->invalid_reason, read->is_truncated, path);
}

}  // namespace

Result<CaptureFile> CaptureFile::open(const std::string& argument) {
  CaptureFile file(parse_capture_name(argument));
  return catch_lack_of_memory(file.name_.path, [&]() -> Result<CaptureFile> {
    CTPROF_TRY(read_bytes(file.name_.path, file.owned_));
    return std::move(file);
  });
}

Result<CaptureFile> CaptureFile::open_regular(const std::string& path) {
  CaptureFile file(CaptureName{.path = path});
  return catch_lack_of_memory(path, [&]() -> Result<CaptureFile> {
    CTPROF_TRY(read_regular_bytes(path, file.owned_));
    return std::move(file);
  });
}

Result<Snapshot> CaptureFile::load(const Vocabulary& vocabulary) const {
  return catch_lack_of_memory(name_.path, [&] { return load_capture(bytes(), name_, vocabulary); });
}

Result<std::vector<Snapshot>> CaptureFile::load_runs(const Vocabulary& vocabulary) const {
  return catch_lack_of_memory(name_.path, [&]() -> Result<std::vector<Snapshot>> {
    if (!name_.has_number && columns::is_columns(bytes())) return read_runs(bytes(), name_);
    CTPROF_TRY_VALUE(auto snapshot, load_capture(bytes(), name_, vocabulary));
    return as_single_run(std::move(snapshot));
  });
}

Result<std::optional<Snapshot>> CaptureFile::load_outline() const {
  return catch_lack_of_memory(name_.path, [&]() -> Result<std::optional<Snapshot>> {
    if (name_.has_number || !columns::is_columns(bytes())) return std::nullopt;
    auto outline = columns::read_outline(bytes());
    return outline ? std::move(outline) : error("reading", name_.path, outline.error().text);
  });
}

Result<Messages> CaptureFile::load_each(const Vocabulary& vocabulary,
                                        const CaptureConsumer& consume, unsigned workers) const {
  return catch_lack_of_memory(name_.path, [&]() -> Result<Messages> {
    if (!name_.has_number && columns::is_columns(bytes()))
      return consume_blocks(bytes(), name_.path, workers > 0 ? workers : count_spare_workers(),
                            consume);
    CTPROF_TRY_VALUE(auto capture, load_capture(bytes(), name_, vocabulary));
    CTPROF_TRY(consume(std::move(capture)));
    return Messages{};
  });
}

Result<Snapshot> load_file(const std::string& argument, const Vocabulary& vocabulary) {
  CTPROF_TRY_VALUE(const CaptureFile file, CaptureFile::open(argument));
  return file.load(vocabulary);
}

}  // namespace ctprof

#include "core/base/workers.hpp"
#include "core/file/columns/write_columns.hpp"
#include "core/file/file.hpp"
#include "core/file/write/document.hpp"
#include "core/file/write/frames.hpp"

namespace ctprof {
namespace {

Result<std::uint64_t> write_text(const Snapshot& snapshot, const Vocabulary& vocabulary,
                                 OutFile& file, const WriteOptions& options) {
  const unsigned workers = options.workers > 0 ? options.workers : spare_workers();
  if (options.layout == FileLayout::Columns)
    return columns::write_block(snapshot, file, options.level, workers);
  return write_frames(Document(snapshot, vocabulary), file, options.level, workers);
}

}  // namespace

Result<Written> write_file(const Snapshot& snapshot, const Vocabulary& vocabulary,
                           const Destination& place, const WriteOptions& options) {
  auto file = OutFile::create(place, options.standard_output);
  if (!file) return file.error();
  const auto text_bytes = write_text(snapshot, vocabulary, *file, options);
  if (!text_bytes) return text_bytes.error();
  if (auto done = file->commit(options.sync); !done) return done.error();
  return Written{
      .json_bytes = *text_bytes, .file_bytes = file->bytes(), .sync_ns = file->sync_ns()};
}

Result<Written> write_file(const Snapshot& snapshot, const Vocabulary& vocabulary,
                           const std::string& path, const WriteOptions& options) {
  const auto place = Destination::at(path);
  if (!place) return place.error();
  return write_file(snapshot, vocabulary, *place, options);
}

Result<Destination> check_output(const std::string& path) {
  auto place = Destination::at(path);
  if (!place) return place;
  if (auto possible = OutFile::check(*place); !possible) return possible.error();
  place->reserve_descriptor();
  return place;
}

}  // namespace ctprof

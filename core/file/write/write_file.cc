#include "core/file/file.hpp"
#include "core/file/write/document.hpp"
#include "core/file/write/zstd_sink.hpp"

namespace ctprof {

Result<Written> write_file(const Snapshot& snapshot, const Vocabulary& vocabulary,
                           const Destination& place, const WriteOptions& options) {
  auto file = OutFile::create(place, options.standard_output);
  if (!file) return file.error();
  ZstdSink sink(*file, options.level);
  if (auto done = Document(snapshot, vocabulary).write(sink); !done) return done.error();
  if (auto done = sink.finish(); !done) return done.error();
  if (auto done = file->commit(options.sync); !done) return done.error();
  return Written{
      .json_bytes = sink.text_bytes(), .file_bytes = file->bytes(), .sync_ns = file->sync_ns()};
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

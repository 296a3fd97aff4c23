#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/workers.hpp"
#include "core/file/columns/lines.hpp"
#include "core/file/columns/write_columns.hpp"
#include "core/file/file.hpp"
#include "core/file/write/destination.hpp"
#include "core/file/write/document.hpp"
#include "core/file/write/out_file.hpp"

namespace ctprof {
namespace {

// Compresses each text into a frame, and keeps the frames.
class FrameSink final : public Sink {
 public:
  void start(columns::Folder& folder) { folder_ = &folder; }
  Result<void> write(std::string_view text) override {
    if (text.empty()) return {};
    text_bytes_ += text.size();
    frames_.push_back(folder_->fold(text));
    return {};
  }
  Result<void> write_to(OutFile& file) const {
    for (const std::string& frame : frames_)
      if (auto done = file.write(frame); !done) return done;
    return {};
  }
  std::uint64_t text_bytes() const { return text_bytes_; }

 private:
  columns::Folder* folder_ = nullptr;
  std::vector<std::string> frames_;
  std::uint64_t text_bytes_ = 0;
};

// The buffers of one worker.
struct Hand {
  Hand(const Document& document, int level) : pen(document), folder(level) {}
  Document::Pen pen;
  columns::Folder folder;
};

Result<std::vector<FrameSink>> fold(const Document& document, int level, unsigned workers) {
  std::vector<FrameSink> sinks(document.parts());
  std::vector<Result<void>> done(document.parts());
  std::vector<std::optional<Hand>> hands(std::max(workers, 1u));
  share(workers, sinks.size(), [&](unsigned worker, std::size_t part) {
    std::optional<Hand>& hand = hands[worker];
    if (!hand) hand.emplace(document, level);
    sinks[part].start(hand->folder);
    done[part] = document.write(part, hand->pen, sinks[part]);
  });
  for (const Result<void>& part : done)
    if (!part) return part.error();
  return sinks;
}

// Writes a document as zstd frames with checksums, one or more per part. Every zstd reader treats
// consecutive frames as one text, and several workers can compress them. Returns the bytes of the
// text. The same document results in the same bytes, whatever the number of workers. Fails if the
// file cannot be written; throws bad_alloc.
Result<std::uint64_t> write_frames(const Document& document, OutFile& file, int level,
                                   unsigned workers) {
  const auto sinks = fold(document, level, workers);
  if (!sinks) return sinks.error();
  std::uint64_t text_bytes = 0;
  for (const FrameSink& sink : *sinks) {
    if (auto done = sink.write_to(file); !done) return done.error();
    text_bytes += sink.text_bytes();
  }
  // Padding keeps the ratio of text and file below the limit of readers, even if the text
  // compresses unusually well.
  if (auto done = file.write(columns::padding(text_bytes, file.bytes())); !done)
    return done.error();
  return text_bytes;
}

// zstd levels. Level 3 makes files in rows smaller than level 2; files in columns become larger,
// and take longer.
constexpr int kLevelOfRows = 3, kLevelOfColumns = 2;

// A sink that writes to a file.
class IntoFile final : public Sink {
 public:
  explicit IntoFile(OutFile& file) : file_(&file) {}
  Result<void> write(std::string_view text) override { return file_->write(text); }

 private:
  OutFile* file_;
};

Result<std::uint64_t> write_text(const Snapshot& snapshot, const Vocabulary& vocabulary,
                                 OutFile& file, const WriteOptions& options) {
  const unsigned workers = options.workers > 0 ? options.workers : spare_workers();
  if (options.layout == FileLayout::Columns) {
    IntoFile out(file);
    return columns::write_block(snapshot, out, options.level.value_or(kLevelOfColumns), workers);
  }
  return write_frames(Document(snapshot, vocabulary), file, options.level.value_or(kLevelOfRows),
                      workers);
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

Result<std::string> block_of(const Snapshot& snapshot, unsigned workers) {
  StringSink out;
  const auto text_bytes =
      columns::write_block(snapshot, out, kLevelOfColumns, workers > 0 ? workers : spare_workers(),
                           columns::Stands::AmongOthers);
  if (!text_bytes) return text_bytes.error();
  return {boost::system::in_place_value, out.text()};
}

Result<Destination> check_output(const std::string& path) {
  auto place = Destination::at(path);
  if (!place) return place;
  if (auto possible = OutFile::check(*place); !possible) return possible.error();
  place->reserve_descriptor();
  return place;
}

}  // namespace ctprof

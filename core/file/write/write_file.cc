#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/workers.hpp"
#include "core/file/columns/compressed_lines.hpp"
#include "core/file/columns/write_columns.hpp"
#include "core/file/file.hpp"
#include "core/file/write/destination.hpp"
#include "core/file/write/document.hpp"
#include "core/file/write/out_file.hpp"

namespace ctprof {
namespace {

// Compresses each text into a frame, and keeps the frames.
class FrameCollector final : public Sink {
 public:
  void set_compressor(columns::FrameCompressor& compressor) { compressor_ = &compressor; }
  Result<void> write(std::string_view text) override {
    if (text.empty()) return {};
    text_bytes_ += text.size();
    frames_.push_back(compressor_->compress(text));
    return {};
  }
  Result<void> write_to(OutFile& file) const {
    for (const std::string& frame : frames_) CTPROF_TRY(file.write(frame));
    return {};
  }
  std::uint64_t text_bytes() const { return text_bytes_; }

 private:
  columns::FrameCompressor* compressor_ = nullptr;
  std::vector<std::string> frames_;
  std::uint64_t text_bytes_ = 0;
};

// The buffers of one worker.
struct WorkerState {
  WorkerState(const Document& document, int level) : buffers(document), compressor(level) {}
  Document::WorkerBuffers buffers;
  columns::FrameCompressor compressor;
};

Result<std::vector<FrameCollector>> compress_parts(const Document& document, int level,
                                                   unsigned workers) {
  std::vector<FrameCollector> sinks(document.part_count());
  std::vector<Result<void>> done(document.part_count());
  std::vector<std::optional<WorkerState>> states(std::max(workers, 1u));
  share_work(workers, sinks.size(), [&](unsigned worker, std::size_t part) {
    std::optional<WorkerState>& state = states[worker];
    if (!state) state.emplace(document, level);
    sinks[part].set_compressor(state->compressor);
    done[part] = document.write(part, state->buffers, sinks[part]);
  });
  for (const Result<void>& part : done)
    if (!part) return part.error();
  return sinks;
}

// Writes a document as zstd frames with checksums, one or more per part. Every zstd reader treats
// consecutive frames as one text, and several workers can compress them. Returns the bytes of the
// text. The same document results in the same bytes, regardless of the number of workers. Fails if
// the file cannot be written; throws bad_alloc.
Result<std::uint64_t> write_frames(const Document& document, OutFile& file, int level,
                                   unsigned workers) {
  CTPROF_TRY_VALUE(const auto sinks, compress_parts(document, level, workers));
  std::uint64_t text_bytes = 0;
  for (const FrameCollector& sink : sinks) {
    CTPROF_TRY(sink.write_to(file));
    text_bytes += sink.text_bytes();
  }
  // Padding keeps the ratio of text and file below the limit of readers, even if the text
  // compresses unusually well.
  CTPROF_TRY(file.write(columns::make_padding(text_bytes, file.bytes())));
  return text_bytes;
}

// zstd levels. Level 3 makes rows files smaller than level 2; columns files become larger,
// and take longer.
constexpr int kRowsLevel = 3, kColumnsLevel = 2;

// A sink that writes to a file.
class OutFileSink final : public Sink {
 public:
  explicit OutFileSink(OutFile& file) : file_(&file) {}
  Result<void> write(std::string_view text) override { return file_->write(text); }

 private:
  OutFile* file_;
};

Result<std::uint64_t> write_text(const Snapshot& snapshot, const Vocabulary& vocabulary,
                                 OutFile& file, const WriteOptions& options) {
  const unsigned workers = options.workers > 0 ? options.workers : count_spare_workers();
  if (options.layout == FileLayout::Columns) {
    OutFileSink out(file);
    return columns::write_block(snapshot, out, options.level.value_or(kColumnsLevel), workers);
  }
  return write_frames(Document(snapshot, vocabulary), file, options.level.value_or(kRowsLevel),
                      workers);
}

}  // namespace

Result<WriteResult> write_file(const Snapshot& snapshot, const Vocabulary& vocabulary,
                               const Destination& destination, const WriteOptions& options) {
  CTPROF_TRY_VALUE(auto file, OutFile::create(destination, options.standard_output));
  CTPROF_TRY_VALUE(const auto text_bytes, write_text(snapshot, vocabulary, file, options));
  CTPROF_TRY(file.commit(options.sync));
  return WriteResult{
      .json_bytes = text_bytes, .file_bytes = file.bytes(), .sync_ns = file.sync_ns()};
}

Result<WriteResult> write_file(const Snapshot& snapshot, const Vocabulary& vocabulary,
                               const std::string& path, const WriteOptions& options) {
  CTPROF_TRY_VALUE(const auto place, Destination::resolve(path));
  return write_file(snapshot, vocabulary, place, options);
}

Result<std::string> serialize_block(const Snapshot& snapshot, unsigned workers) {
  StringSink out;
  CTPROF_TRY(columns::write_block(snapshot, out, kColumnsLevel,
                                  workers > 0 ? workers : count_spare_workers(),
                                  columns::BlockPlacement::OneOfSeveral));
  return {boost::system::in_place_value, out.text()};
}

namespace {

Result<Destination> check_created(Result<Destination> place) {
  if (!place) return place;
  if (auto checked = OutFile::check(*place); !checked) return checked.error();
  place->reserve_descriptor();
  return place;
}

}  // namespace

Result<Destination> check_output(const std::string& path) {
  return check_created(Destination::resolve(path));
}

Result<Destination> check_output_in(int directory, const std::string& name,
                                    const std::string& path) {
  return check_created(Destination::resolve_in(directory, name, path));
}

}  // namespace ctprof

#include "core/file/read/read_pass.hpp"

#include <zstd.h>
#include <zstd_errors.h>
#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <new>
#include <system_error>

#include "core/file/layout/limits.hpp"
#include "core/file/read/json_handler.hpp"

namespace ctprof {

Result<std::string_view> PlainText::next() {
  const std::string_view slice = remaining_.substr(0, slice_bytes_);
  remaining_.remove_prefix(slice.size());
  return slice;
}

void StreamDecompressor::ContextDeleter::operator()(ZSTD_DCtx_s* context) const {
  ZSTD_freeDCtx(context);
}

StreamDecompressor::StreamDecompressor(std::string_view zstd)
    : context_(ZSTD_createDCtx()), zstd_(zstd) {
  if (!context_) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, limits::kWindowLog);
}

Result<void> StreamDecompressor::next(std::string& text) {
  std::size_t size = 0;
  while (size == 0 && (at_ < zstd_.size() || may_have_more_text_)) {
    text.resize(limits::kSliceBytes);
    CTPROF_TRY(decompress_slice(text, size));
  }
  text.resize(size);
  if (size == 0 && expected_bytes_ != 0) return Error{"ends in the middle of its zstd data"};
  return {};
}

// Decompresses until the text is full or the data ends.
Result<void> StreamDecompressor::decompress_slice(std::string& text, std::size_t& size) {
  const std::size_t most = limits::max_text_bytes(zstd_.size());
  ZSTD_inBuffer in{zstd_.data(), zstd_.size(), at_};
  ZSTD_outBuffer out{text.data(), text.size(), 0};
  do {
    const std::size_t before = in.pos;
    expected_bytes_ = ZSTD_decompressStream(context_.get(), &out, &in);
    if (ZSTD_getErrorCode(expected_bytes_) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    if (ZSTD_isError(expected_bytes_))
      return Error{"invalid zstd data near byte " + std::to_string(before) + ": " +
                   ZSTD_getErrorName(expected_bytes_)};
  } while (in.pos < in.size && out.pos < out.size);
  at_ = in.pos;
  size = out.pos;
  may_have_more_text_ = size == text.size() && expected_bytes_ != 0;
  total_ += size;
  if (total_ > most)
    return Error{"decompresses to more than " + std::to_string(most) +
                 " bytes, the limit for a file of its size"};
  return {};
}

DecompressedText::DecompressedText(std::string_view zstd) : decompressor_(zstd) { start(); }

void DecompressedText::start() {
  try {
    thread_ = std::thread([this] { run_thread(); });
  } catch (const std::system_error&) {
    // No second thread is available, so next() decompresses.
  }
}

DecompressedText::~DecompressedText() {
  {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
  }
  state_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<std::string_view> DecompressedText::next() {
  if (!thread_.joinable()) {
    std::string& slice = slices_.front();
    CTPROF_TRY(decompressor_.next(slice));
    return std::string_view(slice);
  }
  std::unique_lock lock(mutex_);
  if (is_slice_in_use_) ++consumed_;
  is_slice_in_use_ = false;
  if (filled_ - consumed_ <= kSlices / 2) state_changed_.notify_all();
  state_changed_.wait(lock, [&] { return consumed_ < filled_ || is_finished_; });
  if (consumed_ < filled_) {
    is_slice_in_use_ = true;
    return std::string_view(slices_[consumed_ % kSlices]);
  }
  if (exception_) std::rethrow_exception(exception_);
  if (!error_.text.empty()) return error_;
  return std::string_view{};
}

void DecompressedText::run_thread() {
  // Other threads read both members only after `is_finished_` is set. Copying an error can itself
  // throw bad_alloc.
  try {
    if (const auto done = decompress_all(); !done) error_ = done.error();
  } catch (...) {
    exception_ = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  is_finished_ = true;
  state_changed_.notify_all();
}

Result<void> DecompressedText::decompress_all() {
  while (std::string* slice = wait_for_free_slice()) {
    if (auto done = decompressor_.next(*slice); !done || slice->empty()) return done;
    publish_slice();
  }
  return {};
}

std::string* DecompressedText::wait_for_free_slice() {
  std::unique_lock lock(mutex_);
  // When all slices are full, waits until half of them are free. The thread then wakes up once for
  // several slices.
  if (filled_ - consumed_ == kSlices)
    state_changed_.wait(lock, [&] { return filled_ - consumed_ <= kSlices / 2 || is_cancelled_; });
  return is_cancelled_ ? nullptr : &slices_[filled_ % kSlices];
}

void DecompressedText::publish_slice() {
  const std::lock_guard lock(mutex_);
  ++filled_;
  state_changed_.notify_all();
}

namespace {

namespace json = boost::json;

using Parser = json::basic_parser<JsonHandler>;

json::parse_options options_of_parser() {
  json::parse_options options;
  options.max_depth = limits::kDepth;
  return options;
}

std::string describe_parser_error(json::error_code failed) {
  if (failed == json::error::incomplete) return "the text ends in the middle";
  if (failed == json::error::too_deep)
    return "nested more than " + std::to_string(limits::kDepth) + " deep";
  if (failed == json::error::extra_data) return "more text follows the end of the JSON";
  return "invalid JSON: " + failed.message();
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

// Passes text to the parser, except rows that the fast path can read.
class ParserFeeder {
 public:
  explicit ParserFeeder(Parser& parser) : parser_(&parser) {}

  // Returns the number of bytes taken: the whole slice, unless the document ends within it.
  std::size_t feed(std::string_view slice, json::error_code& failed) {
    for (std::string_view left = slice; !left.empty();) {
      if (may_read_rows_) left.remove_prefix(parser_->handler().read_rows(left));
      if (left.empty()) break;
      const std::string_view piece = left.substr(0, bytes_to_next_row(left));
      const std::size_t taken = parser_->write_some(true, piece.data(), piece.size(), failed);
      if (failed) return slice.size();
      left.remove_prefix(taken);
      if (parser_->done()) return slice.size() - left.size();
      may_read_rows_ = piece.back() == ',' && parser_->handler().is_between_rows();
    }
    return slice.size();
  }

 private:
  // Returns how many bytes the parser reads before the next row that may take the fast path: up to
  // the bracket before the first row, then up to the comma before each row. The text search may
  // also match elsewhere; is_between_rows() then decides.
  std::size_t bytes_to_next_row(std::string_view text) const {
    const std::string_view border = parser_->handler().is_among_threads() ? "}," : "\"threads\":[";
    const std::size_t at = text.find(std::string(border) + '{');
    return at == text.npos ? text.size() : at + border.size();
  }

  Parser* parser_;
  bool may_read_rows_ = false;
};

// Reads the text to its end. Returns the error that stopped it; empty on success. Adds the bytes
// that were read to the budget's text.
std::string feed(TextSource& source, Parser& parser, MemoryBudget& budget,
                 json::error_code& failed) {
  std::size_t& read = budget.text_bytes;
  ParserFeeder feeder(parser);
  for (bool more = true; more;) {
    const auto slice = source.next();
    if (!slice) return slice.error().text;
    more = !slice->empty();
    if (parser.done()) {
      if (is_blank(*slice)) continue;
      failed = json::error::extra_data;
      return describe_parser_error(failed);
    }
    const std::size_t taken =
        more ? feeder.feed(*slice, failed) : parser.write_some(false, "", 0, failed);
    read += taken;
    if (failed) return describe_parser_error(failed);
    if (!is_blank(slice->substr(taken))) failed = json::error::extra_data;
    if (failed) return describe_parser_error(failed);
  }
  return "";
}

}  // namespace

PassResult read_pass(TextSource& source, const Vocabulary& vocabulary, PassOptions options,
                     SnapshotBuilder& builder) {
  Parser parser(options_of_parser(), vocabulary, options, builder);
  json::error_code failed;
  PassResult end;
  std::string why = feed(source, parser, builder.budget, failed);
  JsonHandler& events = parser.handler();
  if (why.empty()) return end;
  end.is_content_error = !events.error_text().empty();
  if (end.is_content_error) why = events.location() + ' ' + events.error_text();
  if (failed == json::error::incomplete || (failed && !end.is_content_error))
    why += ", in " + events.location();
  if (failed) why += " (byte " + std::to_string(builder.budget.text_bytes) + " of the text)";
  end.failure = std::move(why);
  end.registry = std::move(events.registry_after_tables);
  return end;
}

}  // namespace ctprof

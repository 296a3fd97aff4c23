#include "core/file/read/read_pass.hpp"

#include <zstd.h>
#include <zstd_errors.h>
#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <new>
#include <system_error>

#include "core/file/layout/limits.hpp"
#include "core/file/read/events.hpp"

namespace ctprof {

Result<std::string_view> PlainText::next() {
  const std::string_view slice = left_.substr(0, slice_bytes_);
  left_.remove_prefix(slice.size());
  return slice;
}

void Unfolding::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

Unfolding::Unfolding(std::string_view zstd) : context_(ZSTD_createDCtx()), zstd_(zstd) {
  if (!context_) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, limits::kWindowLog);
}

Result<void> Unfolding::next(std::string& text) {
  std::size_t size = 0;
  while (size == 0 && (at_ < zstd_.size() || more_)) {
    text.resize(limits::kSliceBytes);
    if (auto done = step(text, size); !done) return done;
  }
  text.resize(size);
  if (size == 0 && hint_ != 0) return Error{"ends in the middle of its zstd data"};
  return {};
}

// Decompresses until the text is full or the data ends.
Result<void> Unfolding::step(std::string& text, std::size_t& size) {
  const std::size_t most = limits::most_text(zstd_.size());
  ZSTD_inBuffer in{zstd_.data(), zstd_.size(), at_};
  ZSTD_outBuffer out{text.data(), text.size(), 0};
  do {
    const std::size_t before = in.pos;
    hint_ = ZSTD_decompressStream(context_.get(), &out, &in);
    if (ZSTD_getErrorCode(hint_) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    if (ZSTD_isError(hint_))
      return Error{"not sound zstd data near byte " + std::to_string(before) + ": " +
                   ZSTD_getErrorName(hint_)};
  } while (in.pos < in.size && out.pos < out.size);
  at_ = in.pos;
  size = out.pos;
  more_ = size == text.size() && hint_ != 0;
  total_ += size;
  if (total_ > most)
    return Error{"unfolds to more than " + std::to_string(most) +
                 " bytes, the limit for a file of its size"};
  return {};
}

UnfoldedText::UnfoldedText(std::string_view zstd) : unfolding_(zstd) { start(); }

void UnfoldedText::start() {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    // No second thread is available, so next() decompresses.
  }
}

UnfoldedText::~UnfoldedText() {
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<std::string_view> UnfoldedText::next() {
  if (!thread_.joinable()) {
    std::string& slice = slices_.front();
    if (auto done = unfolding_.next(slice); !done) return done.error();
    return std::string_view(slice);
  }
  std::unique_lock lock(mutex_);
  if (reading_) ++taken_;
  reading_ = false;
  if (filled_ - taken_ <= kSlices / 2) changed_.notify_all();
  changed_.wait(lock, [&] { return taken_ < filled_ || ended_; });
  if (taken_ < filled_) {
    reading_ = true;
    return std::string_view(slices_[taken_ % kSlices]);
  }
  if (thrown_) std::rethrow_exception(thrown_);
  if (!failure_.text.empty()) return failure_;
  return std::string_view{};
}

void UnfoldedText::run() {
  // Other threads read both members only after `is_finished_` is set. Copying an error can itself
  // throw bad_alloc.
  try {
    if (const auto done = unfold(); !done) failure_ = done.error();
  } catch (...) {
    thrown_ = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

Result<void> UnfoldedText::unfold() {
  while (std::string* slice = wait_for_room()) {
    if (auto done = unfolding_.next(*slice); !done || slice->empty()) return done;
    hand_over();
  }
  return {};
}

std::string* UnfoldedText::wait_for_room() {
  std::unique_lock lock(mutex_);
  // When all slices are full, waits until half of them are free. The thread then wakes up once for
  // several slices.
  if (filled_ - taken_ == kSlices)
    changed_.wait(lock, [&] { return filled_ - taken_ <= kSlices / 2 || abandoned_; });
  return abandoned_ ? nullptr : &slices_[filled_ % kSlices];
}

void UnfoldedText::hand_over() {
  const std::lock_guard lock(mutex_);
  ++filled_;
  changed_.notify_all();
}

namespace {

namespace json = boost::json;

using Parser = json::basic_parser<Events>;

json::parse_options options_of_parser() {
  json::parse_options options;
  options.max_depth = limits::kDepth;
  return options;
}

std::string reason(json::error_code failed) {
  if (failed == json::error::incomplete) return "the text ends in the middle";
  if (failed == json::error::too_deep)
    return "nested more than " + std::to_string(limits::kDepth) + " deep";
  if (failed == json::error::extra_data) return "more text after the end";
  return "not sound JSON: " + failed.message();
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

// Passes text to the parser, except rows that the fast path can read.
class Feeder {
 public:
  explicit Feeder(Parser& parser) : parser_(&parser) {}

  // Returns the number of bytes taken: the whole slice, unless the document ends within it.
  std::size_t feed(std::string_view slice, json::error_code& failed) {
    for (std::string_view left = slice; !left.empty();) {
      if (is_at_row_) left.remove_prefix(parser_->handler().read_rows(left));
      if (left.empty()) break;
      const std::string_view piece = left.substr(0, to_next_row(left));
      const std::size_t taken = parser_->write_some(true, piece.data(), piece.size(), failed);
      if (failed) return slice.size();
      left.remove_prefix(taken);
      if (parser_->done()) return slice.size() - left.size();
      is_at_row_ = piece.back() == ',' && parser_->handler().is_between_rows();
    }
    return slice.size();
  }

 private:
  // Returns how many bytes the parser reads before the next row that may take the fast path: up to
  // the bracket before the first row, then up to the comma before each row. The text search may
  // also match elsewhere; is_between_rows() then decides.
  std::size_t to_next_row(std::string_view text) const {
    const std::string_view border = parser_->handler().is_among_threads() ? "}," : "\"threads\":[";
    const std::size_t at = text.find(std::string(border) + '{');
    return at == text.npos ? text.size() : at + border.size();
  }

  Parser* parser_;
  bool is_at_row_ = false;
};

// Reads the text to its end. Returns the error that stopped it; empty on success. Adds the bytes
// that were read to the budget's text.
std::string feed(TextSource& source, Parser& parser, Budget& budget, json::error_code& failed) {
  std::size_t& read = budget.text;
  Feeder feeder(parser);
  for (bool more = true; more;) {
    const auto slice = source.next();
    if (!slice) return slice.error().text;
    more = !slice->empty();
    if (parser.done()) {
      if (is_blank(*slice)) continue;
      failed = json::error::extra_data;
      return reason(failed);
    }
    const std::size_t taken =
        more ? feeder.feed(*slice, failed) : parser.write_some(false, "", 0, failed);
    read += taken;
    if (failed) return reason(failed);
    if (!is_blank(slice->substr(taken))) failed = json::error::extra_data;
    if (failed) return reason(failed);
  }
  return "";
}

}  // namespace

PassEnd read_pass(TextSource& source, const Vocabulary& vocabulary, PassOptions options,
                  Draft& draft) {
  Parser parser(options_of_parser(), vocabulary, options, draft);
  json::error_code failed;
  PassEnd end;
  std::string why = feed(source, parser, draft.budget, failed);
  Events& events = parser.handler();
  if (why.empty()) return end;
  end.is_contents = !events.why().empty();
  if (end.is_contents) why = events.where() + ' ' + events.why();
  if (failed == json::error::incomplete || (failed && !end.is_contents))
    why += ", in " + events.where();
  if (failed) why += " (byte " + std::to_string(draft.budget.text) + " of the text)";
  end.failure = std::move(why);
  end.registry = std::move(events.late_registry);
  return end;
}

}  // namespace ctprof

#include "tests/recorded/trace.hpp"

#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>

#include "plugins/shared/clock.hpp"

namespace ctprof::recorded {
namespace {

using namespace std::literals;

// Never changes, although traces had another name when the first ones were recorded. 16 bytes, so
// that frames are aligned.
constexpr std::string_view kMagic = "ctprof-tape 1\n\0\0"sv;
constexpr std::size_t kMaxCompressedBytes = 16 << 20;
constexpr std::size_t kMaxBytes = 256 << 20;
constexpr std::size_t kMaxFrameBytes = 16 << 20;
constexpr std::size_t kAlignment = 8;
constexpr int kCompressionLevel = 19;

struct FrameHeader {
  std::uint32_t kind;
  std::uint32_t size;
  std::uint64_t clock_ns;
};

std::size_t add_padding(std::size_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

void append(std::vector<std::byte>& out, Bytes bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void append_frame(std::vector<std::byte>& out, const FrameHeader& header, Bytes bytes) {
  append(out, std::as_bytes(std::span(&header, 1)));
  append(out, bytes);
  out.resize(add_padding(out.size()));
}

[[noreturn]] void fail(const std::string& what, std::size_t offset) {
  throw BadTrace("damaged trace: at byte " + std::to_string(offset) + ": " + what);
}

std::vector<Frame> parse_frames(Bytes bytes) {
  std::vector<Frame> frames;
  std::size_t at = kMagic.size();
  if (bytes.size() < at || std::memcmp(bytes.data(), kMagic.data(), at) != 0)
    fail("no trace of this format", 0);
  while (at < bytes.size()) {
    if (bytes.size() - at < sizeof(FrameHeader)) fail("the header of a frame is cut", at);
    FrameHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    const std::size_t begin = at + sizeof header;
    if (header.size > kMaxFrameBytes) fail("a frame is too large", at);
    if (add_padding(header.size) > bytes.size() - begin) fail("a frame is cut", at);
    frames.push_back({header.kind, header.clock_ns, bytes.subspan(begin, header.size)});
    at = begin + add_padding(header.size);
  }
  if (frames.empty() || frames.front().kind != kFacts) fail("no facts", kMagic.size());
  if (frames.back().kind != kEnd) fail("the end is missing", at);
  return frames;
}

Facts parse_facts(std::string_view text) {
  Facts facts;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t blank = line.find(' ');
    if (line.size() == text.size() || blank == line.npos) fail("a fact is cut", kMagic.size());
    facts.emplace(line.substr(0, blank), line.substr(blank + 1));
    text.remove_prefix(line.size() + 1);
  }
  return facts;
}

std::string text_of(const Layout& layout) {
  return "version " + std::to_string(layout.version) + " size " + std::to_string(layout.size);
}

std::vector<std::byte> decompress(Bytes compressed) {
  const auto size = ::ZSTD_getFrameContentSize(compressed.data(), compressed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kMaxBytes)
    fail("no compressed trace of a reasonable size", 0);
  std::vector<std::byte> bytes(size);
  const std::size_t got =
      ::ZSTD_decompress(bytes.data(), bytes.size(), compressed.data(), compressed.size());
  if (::ZSTD_isError(got) || got != size) fail("cannot decompress", 0);
  return bytes;
}

}  // namespace

void Frame::require_size(std::size_t size) const {
  if (bytes.size() != size)
    throw BadTrace("a frame of kind " + std::to_string(kind) + " has " +
                   std::to_string(bytes.size()) + " bytes, not " + std::to_string(size));
}

// --- writer ---

void TraceWriter::add_fact(std::string name, std::string value) {
  facts_[std::move(name)] = std::move(value);
}

void TraceWriter::add_layouts(std::span<const Layout> layouts) {
  for (const Layout& layout : layouts)
    add_fact("layout:" + std::string(layout.name), text_of(layout));
}

void TraceWriter::put(std::uint32_t kind, Bytes bytes) {
  put_frame({kind, clock_ns(CLOCK_MONOTONIC), bytes});
}

void TraceWriter::put_frame(const Frame& frame) {
  append_frame(frames_,
               {frame.kind, static_cast<std::uint32_t>(frame.bytes.size()), frame.clock_ns},
               frame.bytes);
}

void TraceWriter::put_text(std::uint32_t kind, std::string_view text) {
  put(kind, std::as_bytes(std::span(text)));
}

std::vector<std::byte> TraceWriter::bytes() const {
  std::string facts;
  for (const auto& [name, value] : facts_) facts.append(name).append(" ").append(value) += '\n';
  const Bytes magic = std::as_bytes(std::span(kMagic));
  std::vector<std::byte> out(magic.begin(), magic.end());
  append_frame(out, {kFacts, static_cast<std::uint32_t>(facts.size()), 0},
               std::as_bytes(std::span(facts)));
  append(out, frames_);
  append_frame(out, {kEnd, 0, clock_ns(CLOCK_MONOTONIC)}, {});
  return out;
}

void TraceWriter::save(const std::string& path) const {
  const std::vector<std::byte> whole = bytes();
  std::vector<char> compressed(::ZSTD_compressBound(whole.size()));
  const std::size_t size = ::ZSTD_compress(compressed.data(), compressed.size(), whole.data(),
                                           whole.size(), kCompressionLevel);
  if (::ZSTD_isError(size)) throw std::runtime_error("cannot compress '" + path + "'");
  std::ofstream file(path, std::ios::binary);
  file.write(compressed.data(), static_cast<std::streamsize>(size)).flush();
  if (!file) throw std::runtime_error("cannot write '" + path + "'");
}

// --- reader ---

Trace Trace::load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw BadTrace("cannot open '" + path + "'");
  std::vector<char> compressed(kMaxCompressedBytes);
  file.read(compressed.data(), static_cast<std::streamsize>(compressed.size()));
  if (!file.eof()) throw BadTrace("'" + path + "' is larger than any trace");
  compressed.resize(static_cast<std::size_t>(file.gcount()));
  return parse(decompress(std::as_bytes(std::span(compressed))));
}

Trace Trace::parse(std::vector<std::byte> bytes) {
  Trace trace;
  trace.bytes_ = std::move(bytes);
  trace.frames_ = parse_frames(trace.bytes_);
  trace.facts_ = parse_facts(trace.frames_.front().text());
  trace.frames_.erase(trace.frames_.begin());
  trace.frames_.pop_back();
  return trace;
}

const std::string& Trace::fact(std::string_view name) const {
  const auto found = facts_.find(name);
  if (found == facts_.end()) throw BadTrace("the trace does not state '" + std::string(name) + "'");
  return found->second;
}

std::uint64_t Trace::number(std::string_view name) const {
  const std::string& text = fact(name);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw BadTrace("'" + std::string(name) + "' is no number: '" + text + "'");
  return value;
}

bool Trace::has_layouts(std::span<const Layout> layouts) const {
  return std::ranges::all_of(layouts, [this](const Layout& layout) {
    return fact("layout:" + std::string(layout.name)) == text_of(layout);
  });
}

void Trace::require_layouts(std::span<const Layout> layouts) const {
  for (const Layout& layout : layouts) {
    const std::string& stated = fact("layout:" + std::string(layout.name));
    if (stated != text_of(layout))
      throw BadTrace("the trace has " + std::string(layout.name) + " of " + stated + ", not of " +
                     text_of(layout) + ": convert it");
  }
}

std::string Trace::output() const {
  std::string output;
  for (const Frame& frame : frames_)
    if (frame.kind == kOutput) output += frame.text();
  return output;
}

const Frame& Cursor::peek() const {
  if (is_at_end()) throw BadTrace("the trace ends before the code under test does");
  return frames_[at_];
}

const Frame& Cursor::next() {
  const Frame& frame = peek();
  ++at_;
  clock_ns_ = frame.clock_ns;
  return frame;
}

const Frame& Cursor::next(std::uint32_t kind) {
  if (peek().kind != kind)
    throw BadTrace("the code under test reads a frame of kind " + std::to_string(kind) +
                   ", frame " + std::to_string(at_) + " is of kind " + std::to_string(peek().kind));
  return next();
}

}  // namespace ctprof::recorded

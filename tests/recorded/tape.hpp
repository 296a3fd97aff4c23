// A tape contains what a plugin read from a kernel, so that tests can replay it.
//
//   Tape tape = Tape::load("tapes/off_cpu_kinds.tape.zst");   // throws BadTape
//   Cursor at(tape);
//   while (!at.is_at_end()) use(at.next());
//
// A tape is a list of facts (text) and a sequence of frames. A frame has a kind, the value of
// CLOCK_MONOTONIC when it was recorded, and bytes. The facts contain the kernel, and the version
// and size of each record structure in the frames. When a structure changes, its version is raised,
// and old tapes remain as tests: require_layouts() reports what a reader must convert.
//
// Tape files are compressed with zstd. The reader checks all sizes. A damaged file is an error
// (BadTape) that names the place.
//
// Contents:  the format, a writer, a reader, a cursor.
// See also:  off_cpu_tape.hpp and similar files, for the frames of a plugin.
//
// Threads: not thread-safe; use each object in one thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ctprof::recorded {

using Bytes = std::span<const std::byte>;

struct BadTape : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Kinds that every tape may contain. Each plugin numbers its own kinds from kFirstOfPlugin.
enum CommonKind : std::uint32_t {
  kFacts = 1,   // lines `name value`; the first frame
  kOutput = 2,  // printed by the workload
  kEnd = 3,     // the last frame; without it the tape is truncated
  kFirstOfPlugin = 16
};

// A record structure of this build.
struct Layout {
  std::string_view name;
  std::uint32_t version;
  std::uint32_t size;
};

struct Frame {
  std::uint32_t kind;
  std::uint64_t clock_ns;
  Bytes bytes;  // aligned to 8

  // Throws BadTape if the frame has another size.
  template <class Value>
  const Value& as() const {
    static_assert(std::is_trivially_copyable_v<Value>);
    require_size(sizeof(Value));
    return *reinterpret_cast<const Value*>(bytes.data());
  }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  void require_size(std::size_t size) const;
};

using Facts = std::map<std::string, std::string, std::less<>>;

class TapeWriter {
 public:
  // Facts may be added until the tape is saved.
  void add_fact(std::string name, std::string value);
  void add_layouts(std::span<const Layout> layouts);
  // Appends a frame with the current value of CLOCK_MONOTONIC.
  void put(std::uint32_t kind, Bytes bytes = {});
  template <class Value>
  void put_value(std::uint32_t kind, const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    put(kind, std::as_bytes(std::span(&value, 1)));
  }
  void put_text(std::uint32_t kind, std::string_view text);
  // Appends a frame of another tape, or with a time that the test chooses.
  void put_frame(const Frame& frame);
  // Returns the tape before compression.
  std::vector<std::byte> bytes() const;
  // Throws std::runtime_error if the file cannot be written.
  void save(const std::string& path) const;

 private:
  Facts facts_;
  std::vector<std::byte> frames_;
};

class Tape {
 public:
  static Tape load(const std::string& path);
  // Expects uncompressed bytes.
  static Tape parse(std::vector<std::byte> bytes);

  const std::vector<Frame>& frames() const { return frames_; }
  // Throws BadTape if the fact is missing or not a number.
  const std::string& fact(std::string_view name) const;
  std::uint64_t number(std::string_view name) const;
  // Throws BadTape unless the tape contains each of these structures with this version and size.
  void require_layouts(std::span<const Layout> layouts) const;
  // Returns the output of the workload: all its frames joined.
  std::string output() const;

 private:
  std::vector<std::byte> bytes_;
  std::vector<Frame> frames_;
  Facts facts_;
};

// A position in a tape. Its time is that of the last frame that was read.
class Cursor {
 public:
  explicit Cursor(const Tape& tape) : frames_(tape.frames()) {}

  bool is_at_end() const { return at_ == frames_.size(); }
  // Throws BadTape at the end.
  const Frame& peek() const;
  const Frame& next();
  // Throws BadTape if the next frame is of another kind, because the tested code made another call
  // than the recorded code.
  const Frame& next(std::uint32_t kind);
  std::uint64_t clock_ns() const { return clock_ns_; }

 private:
  std::span<const Frame> frames_;
  std::size_t at_ = 0;
  std::uint64_t clock_ns_ = 0;
};

}  // namespace ctprof::recorded

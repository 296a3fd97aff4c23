// A trace contains what a plugin read from a kernel, so that tests can replay it.
//
//   Trace trace = Trace::load("traces/off_cpu_kinds.trace.zst");   // throws BadTrace
//   Cursor at(trace);
//   while (!at.is_at_end()) use(at.next());
//
// A trace is a list of facts (text) and a sequence of frames. A frame has a kind, the value of
// CLOCK_MONOTONIC when it was recorded, and bytes. The facts contain the kernel, and the version
// and size of each record structure in the frames. When a structure changes, its version is raised,
// and old traces remain as tests: require_layouts() reports what a reader must convert.
//
// Trace files are compressed with zstd. The reader checks all sizes. A damaged file is an error
// (BadTrace) that names the place.
//
// Contents:  the format, a writer, a reader, a cursor.
// See also:  off_cpu_trace.hpp and similar files, for the frames of a plugin.
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

struct BadTrace : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Kinds that every trace may contain. Each plugin numbers its own kinds from kFirstOfPlugin.
enum CommonKind : std::uint32_t {
  kFacts = 1,   // lines `name value`; the first frame
  kOutput = 2,  // printed by the workload
  kEnd = 3,     // the last frame; without it the trace is truncated
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

  // Throws BadTrace if the frame has another size.
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

class TraceWriter {
 public:
  // Facts may be added until the trace is saved.
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
  // Appends a frame of another trace, or with a time that the test chooses.
  void put_frame(const Frame& frame);
  // Returns the trace before compression.
  std::vector<std::byte> bytes() const;
  // Throws std::runtime_error if the file cannot be written.
  void save(const std::string& path) const;

 private:
  Facts facts_;
  std::vector<std::byte> frames_;
};

class Trace {
 public:
  static Trace load(const std::string& path);
  // Expects uncompressed bytes.
  static Trace parse(std::vector<std::byte> bytes);

  const std::vector<Frame>& frames() const { return frames_; }
  // Throws BadTrace if the fact is missing or not a number.
  const std::string& fact(std::string_view name) const;
  std::uint64_t number(std::string_view name) const;
  // Returns whether the trace contains each of these structures with this version and size. Throws
  // BadTrace if it lacks one of them.
  bool has_layouts(std::span<const Layout> layouts) const;
  // Throws BadTrace unless has_layouts().
  void require_layouts(std::span<const Layout> layouts) const;
  // Returns the output of the workload: all its frames joined.
  std::string output() const;

 private:
  std::vector<std::byte> bytes_;
  std::vector<Frame> frames_;
  Facts facts_;
};

// A position in a trace. Its time is that of the last frame that was read.
class Cursor {
 public:
  explicit Cursor(const Trace& trace) : frames_(trace.frames()) {}

  bool is_at_end() const { return at_ == frames_.size(); }
  // Throws BadTrace at the end.
  const Frame& peek() const;
  const Frame& next();
  // Throws BadTrace if the next frame is of another kind, because the tested code made another call
  // than the recorded code.
  const Frame& next(std::uint32_t kind);
  std::uint64_t clock_ns() const { return clock_ns_; }

 private:
  std::span<const Frame> frames_;
  std::size_t at_ = 0;
  std::uint64_t clock_ns_ = 0;
};

}  // namespace ctprof::recorded

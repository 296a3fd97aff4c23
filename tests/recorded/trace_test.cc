// Tests that a trace is unchanged after writing and reading, and that damaged traces are errors.

#define BOOST_TEST_MODULE recorded_trace
#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/recorded/trace.hpp"

using namespace ctprof::recorded;

namespace {

constexpr std::uint32_t kSmall = kFirstOfPlugin, kLarge = kFirstOfPlugin + 1;
constexpr std::array kLayouts{Layout{"small", 3, 5}};

TraceWriter sample_bytes() {
  TraceWriter trace;
  trace.add_fact("kernel", "6.18 of a test");
  trace.add_fact("period", "1000");
  trace.add_layouts(kLayouts);
  trace.put_text(kSmall, "12345");
  trace.put_value(kLarge, std::uint64_t{77});
  trace.put_text(kOutput, "first ");
  trace.put_text(kOutput, "last\n");
  return trace;
}

// Returns the offset of the first frame of this kind in the bytes of the trace.
std::size_t offset_of(const std::vector<std::byte>& bytes, std::uint32_t kind) {
  for (std::size_t at = 16; at + 4 <= bytes.size(); at += 8)
    if (*reinterpret_cast<const std::uint32_t*>(bytes.data() + at) == kind) return at;
  throw std::logic_error("no such frame");
}

}  // namespace

BOOST_AUTO_TEST_CASE(reads_what_was_written) {
  const Trace trace = Trace::parse(sample_bytes().bytes());
  BOOST_TEST(trace.fact("kernel") == "6.18 of a test");
  BOOST_TEST(trace.number("period") == 1000u);
  BOOST_TEST(trace.output() == "first last\n");
  Cursor cursor(trace);
  BOOST_TEST(cursor.next(kSmall).text() == "12345");
  BOOST_TEST(cursor.next(kLarge).as<std::uint64_t>() == 77u);
  BOOST_TEST(cursor.clock_ns() > 0u);
  cursor.next();
  cursor.next();
  BOOST_TEST(cursor.is_at_end());
}

BOOST_AUTO_TEST_CASE(reads_a_saved_trace) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("ctprof-trace-" + std::to_string(::getpid()) + ".zst");
  sample_bytes().save(path);
  BOOST_TEST(Trace::load(path).frames().size() == 4u);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  BOOST_CHECK_THROW(Trace::load(path), BadTrace);
  std::ofstream(path) << "no trace";
  BOOST_CHECK_THROW(Trace::load(path), BadTrace);
  std::filesystem::remove(path);
  BOOST_CHECK_THROW(Trace::load(path), BadTrace);
}

BOOST_AUTO_TEST_CASE(rejects_truncated_traces) {
  const auto whole = sample_bytes().bytes();
  for (std::size_t size = 0; size < whole.size(); ++size)
    BOOST_CHECK_THROW(Trace::parse({whole.begin(), whole.begin() + static_cast<long>(size)}),
                      BadTrace);
}

BOOST_AUTO_TEST_CASE(rejects_a_frame_that_is_larger_than_the_trace) {
  for (const std::uint32_t size : {0x100u, 0x7fffffffu, 0xffffffffu}) {
    auto bytes = sample_bytes().bytes();
    *reinterpret_cast<std::uint32_t*>(bytes.data() + offset_of(bytes, kLarge) + 4) = size;
    BOOST_CHECK_THROW(Trace::parse(std::move(bytes)), BadTrace);
  }
}

BOOST_AUTO_TEST_CASE(rejects_a_trace_of_another_format) {
  auto bytes = sample_bytes().bytes();
  bytes[12] = std::byte{'2'};
  BOOST_CHECK_THROW(Trace::parse(std::move(bytes)), BadTrace);
}

BOOST_AUTO_TEST_CASE(rejects_unexpected_frames_and_facts) {
  const Trace trace = Trace::parse(sample_bytes().bytes());
  BOOST_CHECK_THROW(trace.fact("machine"), BadTrace);
  BOOST_CHECK_THROW(trace.number("kernel"), BadTrace);
  Cursor cursor(trace);
  BOOST_CHECK_THROW(cursor.next(kLarge), BadTrace);
  BOOST_CHECK_THROW(cursor.next().as<std::uint64_t>(), BadTrace);
  while (!cursor.is_at_end()) cursor.next();
  BOOST_CHECK_THROW(cursor.next(), BadTrace);
}

BOOST_AUTO_TEST_CASE(rejects_a_structure_of_another_version) {
  const Trace trace = Trace::parse(sample_bytes().bytes());
  trace.require_layouts(kLayouts);
  BOOST_TEST(trace.has_layouts(kLayouts));
  for (const Layout& other : {Layout{"small", 4, 5}, Layout{"small", 3, 6}, Layout{"large", 3, 5}})
    BOOST_CHECK_THROW(trace.require_layouts(std::span(&other, 1)), BadTrace);
  for (const Layout& other : {Layout{"small", 4, 5}, Layout{"small", 3, 6}})
    BOOST_TEST(!trace.has_layouts(std::span(&other, 1)));
}

// Tests that tapes survive writing and reading, and that damaged tapes are errors.

#define BOOST_TEST_MODULE recorded_tape
#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/recorded/tape.hpp"

using namespace ctprof::recorded;

namespace {

constexpr std::uint32_t kSmall = kFirstOfPlugin, kLarge = kFirstOfPlugin + 1;
constexpr std::array kLayouts{Layout{"small", 3, 5}};

TapeWriter sample_bytes() {
  TapeWriter tape;
  tape.add_fact("kernel", "6.18 of a test");
  tape.add_fact("period", "1000");
  tape.add_layouts(kLayouts);
  tape.put_text(kSmall, "12345");
  tape.put_value(kLarge, std::uint64_t{77});
  tape.put_text(kOutput, "first ");
  tape.put_text(kOutput, "last\n");
  return tape;
}

// Returns the offset of the first frame of this kind in the bytes of the tape.
std::size_t offset_of(const std::vector<std::byte>& bytes, std::uint32_t kind) {
  for (std::size_t at = 16; at + 4 <= bytes.size(); at += 8)
    if (*reinterpret_cast<const std::uint32_t*>(bytes.data() + at) == kind) return at;
  throw std::logic_error("no such frame");
}

}  // namespace

BOOST_AUTO_TEST_CASE(reads_what_was_written) {
  const Tape tape = Tape::parse(sample_bytes().bytes());
  BOOST_TEST(tape.fact("kernel") == "6.18 of a test");
  BOOST_TEST(tape.number("period") == 1000u);
  BOOST_TEST(tape.output() == "first last\n");
  Cursor cursor(tape);
  BOOST_TEST(cursor.next(kSmall).text() == "12345");
  BOOST_TEST(cursor.next(kLarge).as<std::uint64_t>() == 77u);
  BOOST_TEST(cursor.clock_ns() > 0u);
  cursor.next();
  cursor.next();
  BOOST_TEST(cursor.is_at_end());
}

BOOST_AUTO_TEST_CASE(reads_a_saved_tape) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("ctprof-tape-" + std::to_string(::getpid()) + ".zst");
  sample_bytes().save(path);
  BOOST_TEST(Tape::load(path).frames().size() == 4u);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  BOOST_CHECK_THROW(Tape::load(path), BadTape);
  std::ofstream(path) << "no tape";
  BOOST_CHECK_THROW(Tape::load(path), BadTape);
  std::filesystem::remove(path);
  BOOST_CHECK_THROW(Tape::load(path), BadTape);
}

BOOST_AUTO_TEST_CASE(rejects_truncated_tapes) {
  const auto whole = sample_bytes().bytes();
  for (std::size_t size = 0; size < whole.size(); ++size)
    BOOST_CHECK_THROW(Tape::parse({whole.begin(), whole.begin() + static_cast<long>(size)}),
                      BadTape);
}

BOOST_AUTO_TEST_CASE(rejects_a_frame_that_is_larger_than_the_tape) {
  for (const std::uint32_t size : {0x100u, 0x7fffffffu, 0xffffffffu}) {
    auto bytes = sample_bytes().bytes();
    *reinterpret_cast<std::uint32_t*>(bytes.data() + offset_of(bytes, kLarge) + 4) = size;
    BOOST_CHECK_THROW(Tape::parse(std::move(bytes)), BadTape);
  }
}

BOOST_AUTO_TEST_CASE(rejects_a_tape_of_another_format) {
  auto bytes = sample_bytes().bytes();
  bytes[12] = std::byte{'2'};
  BOOST_CHECK_THROW(Tape::parse(std::move(bytes)), BadTape);
}

BOOST_AUTO_TEST_CASE(rejects_unexpected_frames_and_facts) {
  const Tape tape = Tape::parse(sample_bytes().bytes());
  BOOST_CHECK_THROW(tape.fact("machine"), BadTape);
  BOOST_CHECK_THROW(tape.number("kernel"), BadTape);
  Cursor cursor(tape);
  BOOST_CHECK_THROW(cursor.next(kLarge), BadTape);
  BOOST_CHECK_THROW(cursor.next().as<std::uint64_t>(), BadTape);
  while (!cursor.is_at_end()) cursor.next();
  BOOST_CHECK_THROW(cursor.next(), BadTape);
}

BOOST_AUTO_TEST_CASE(rejects_a_structure_of_another_version) {
  const Tape tape = Tape::parse(sample_bytes().bytes());
  tape.require_layouts(kLayouts);
  for (const Layout& other : {Layout{"small", 4, 5}, Layout{"small", 3, 6}, Layout{"large", 3, 5}})
    BOOST_CHECK_THROW(tape.require_layouts(std::span(&other, 1)), BadTape);
}

// Splits files of the columns layout into their lines and joins them again, for tests that change
// their contents.

#pragma once

#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/file/capture_file.hpp"
#include "core/file/columns/compressed_lines.hpp"
#include "core/file/file.hpp"
#include "tests/unit/support/files.hpp"
#include "tests/unit/support/random_host.hpp"

namespace ctprof::tests {

using Lines = std::vector<std::string>;

// Returns the bytes of the file that write_file() produces from the snapshot.
inline std::string to_file_bytes(const Snapshot& snapshot, unsigned workers = 1) {
  const TemporaryDirectory directory;
  const auto done = write_file(snapshot, shipped_vocabulary(), directory / "file",
                               {.layout = FileLayout::Columns, .workers = workers, .sync = false});
  BOOST_REQUIRE_MESSAGE(done.has_value(), done.error().text);
  return file_text(directory / "file");
}

inline Snapshot load(std::string_view bytes, const CaptureName& name = {"test"}) {
  auto snapshot = CaptureFile(bytes, name).load(shipped_vocabulary());
  BOOST_REQUIRE_MESSAGE(snapshot.has_value(), snapshot.error().text);
  return std::move(*snapshot);
}

// Returns why the file cannot be loaded, without the file name, or "" if it loads.
inline std::string refusal(std::string_view bytes, const CaptureName& name = {"test"}) {
  const auto snapshot = CaptureFile(bytes, name).load(shipped_vocabulary());
  if (snapshot) return "";
  constexpr std::string_view kErrorPrefix = "reading 'test': ";
  const std::string& sentence = snapshot.error().text;
  BOOST_TEST(sentence.starts_with(kErrorPrefix), sentence);
  BOOST_TEST(sentence.find('\n') == sentence.npos);
  return sentence.substr(kErrorPrefix.size());
}

inline Lines lines_of(std::string_view bytes) {
  const auto frames = columns::find_frames(bytes);
  BOOST_REQUIRE(frames.has_value());
  columns::FrameDecompressor unfolder;
  Lines lines;
  for (const columns::Frame& frame : frames->complete) {
    const auto text = unfolder.decompress(bytes, frame);
    BOOST_REQUIRE(text.has_value());
    lines.emplace_back(*text);
  }
  return lines;
}

inline std::string compress_lines(const Lines& lines) {
  columns::FrameCompressor folder(3);
  std::string bytes;
  for (const std::string& line : lines) bytes += folder.compress(line);
  return bytes;
}

// Updates the last line so that it has the correct counts of lines and bytes.
inline Lines update_line_counts(Lines lines) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) bytes += lines[i].size();
  lines.back() = R"({"kind":"end","lines":)" + std::to_string(lines.size()) + R"(,"bytes":)" +
                 std::to_string(bytes) + "}\n";
  return lines;
}

inline std::string replace_once(std::string text, std::string_view what, std::string_view with) {
  const auto at = text.find(what);
  BOOST_REQUIRE_MESSAGE(at != text.npos, what);
  return text.replace(at, what.size(), with);
}

// Returns the lines with `what` replaced by `instead` in one of them.
inline Lines replace_in_line(Lines lines, std::size_t line, std::string_view what,
                             std::string_view instead) {
  lines[line] = replace_once(lines[line], what, instead);
  return update_line_counts(lines);
}

inline Snapshot random_snapshot(int seed) {
  return RandomHost(static_cast<std::uint64_t>(seed)).make();
}

inline Snapshot idle_host_snapshot(std::size_t threads) {
  HostShape shape;
  shape.threads = threads;
  return IdleHost(shape).make();
}

}  // namespace ctprof::tests

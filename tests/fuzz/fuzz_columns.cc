// Reads any lines as a columns file. The input is their text. Each line becomes a valid frame,
// so that only the JSON in it is fuzzed. `{"kind":"end"}` is replaced by an `end` line with correct
// numbers.
//
// Checks that memory and time stay within their limits with any number of workers. A loaded file
// must be the same after it is written and loaded again, in columns and, as far as the layout can
// represent it, in rows. The differences of a window must be the same each time.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/file/columns/compressed_lines.hpp"
#include "core/file/columns/read_columns.hpp"
#include "core/file/file.hpp"
#include "core/file/read/load_text.hpp"
#include "core/file/write/document.hpp"
#include "core/window/differences.hpp"
#include "core/window/join_windows.hpp"
#include "core/window/make_window.hpp"
#include "ctprof/files.hpp"
#include "tests/unit/support/idle_host.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using Lines = std::vector<std::string>;
using namespace ctprof;

// As in fuzz_file.cc.
constexpr std::clock_t kMaxSeconds = 20;
// Limit per input, because each line is compressed into a frame.
constexpr std::size_t kMaxLines = 64;
constexpr std::string_view kEnd = "{\"kind\":\"end\"}\n";

// Splits the text into lines, each with its line feed.
Lines split_lines(std::string_view text) {
  Lines lines;
  while (!text.empty() && lines.size() < kMaxLines) {
    const std::size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

std::string join_lines(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

std::string make_end_line(std::size_t lines, std::size_t bytes) {
  return "{\"kind\":\"end\",\"lines\":" + std::to_string(lines) +
         ",\"bytes\":" + std::to_string(bytes) + "}\n";
}

std::string compress_lines(const Lines& lines) {
  columns::FrameCompressor compressor(1);
  std::string file;
  std::size_t count = 0, bytes = 0;  // lines and bytes of the current block
  for (const std::string& line : lines) {
    ++count;
    file += compressor.compress(line == kEnd ? make_end_line(count, bytes) : line);
    bytes += line.size();
    if (line == kEnd) count = bytes = 0;
  }
  return file;
}

std::string write_columns_file(const Snapshot& snapshot) {
  const sdk::Fd memory(::memfd_create("fuzz_columns", MFD_CLOEXEC));
  const auto done =
      write_file(snapshot, tests::shipped_vocabulary(), "-",
                 {.layout = FileLayout::Columns, .workers = 1, .standard_output = memory.get()});
  if (!done) std::abort();
  std::string file(done->file_bytes, '\0');
  if (::pread(memory.get(), file.data(), file.size(), 0) != static_cast<ssize_t>(file.size()))
    std::abort();
  return file;
}

// Checks that two readings of the same file have the same differences.
void check_differences(Snapshot& one, Snapshot& other) {
  if (!one.window) return;
  convert_to_differences(one);
  convert_to_differences(other);
  if (!tests::difference(one, other).empty()) std::abort();
}

// Returns whether the error is expected: another metric may use the key path of a thread's ids, so
// that the rows layout cannot identify the thread.
bool is_missing_ids_error(std::string_view sentence) {
  return sentence.ends_with(" has no tid") || sentence.ends_with(" has no tgid");
}

void check_again(const Snapshot& snapshot) {
  const auto again = columns::read_block(write_columns_file(snapshot), 1, 1);
  if (!again || !tests::difference(snapshot, again->snapshot).empty()) std::abort();
}

// Checks the opening of a window, and the window that is rebuilt from its two ends.
void check_opening(Snapshot begin, Snapshot window) {
  if (!window.window) return;
  begin = opening_snapshot(std::move(begin));
  check_again(begin);
  const auto made = window_between(begin, closing_snapshot(std::move(window)), "begin", "end");
  if (!made && made.error().text.empty()) std::abort();
}

void check_rows(Snapshot& snapshot) {
  snapshot = closing_snapshot(std::move(snapshot));
  StringSink rows;
  if (!Document(snapshot, tests::shipped_vocabulary()).write(rows)) std::abort();
  const auto from_rows = load_text(rows.text(), "rows", tests::shipped_vocabulary());
  if (!from_rows && !is_missing_ids_error(from_rows.error().text)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string file = compress_lines(split_lines({reinterpret_cast<const char*>(data), size}));
  const std::clock_t start = std::clock();
  auto block = columns::read_block(file, 1, 1);
  if (std::clock() - start > kMaxSeconds * CLOCKS_PER_SEC) std::abort();
  auto shared = columns::read_block(file, 1, 2);
  if (block.has_value() != shared.has_value()) std::abort();
  if (!block) {
    if (block.error().text != shared.error().text || block.error().text.empty()) std::abort();
    return 0;
  }
  if (!tests::difference(block->snapshot, shared->snapshot).empty()) std::abort();
  check_again(block->snapshot);
  check_opening(std::move(columns::read_block(file, 1, 1)->snapshot),
                std::move(columns::read_block(file, 1, 1)->snapshot));
  check_differences(block->snapshot, shared->snapshot);
  check_rows(block->snapshot);
  return 0;
}

// Removes, repeats, swaps or changes lines.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  Lines lines = split_lines({reinterpret_cast<const char*>(data), size});
  if (lines.empty()) return LLVMFuzzerMutate(data, size, most);
  const auto any_line = [&] {
    return lines.begin() + static_cast<std::ptrdiff_t>(random() % lines.size());
  };
  switch (random() % 12) {
    case 0: lines.erase(any_line()); break;
    case 1: lines.insert(any_line(), std::string(*any_line())); break;
    case 2: std::iter_swap(any_line(), any_line()); break;
    default: {
      std::string& line = *any_line();
      const std::size_t max_size = std::min(most, line.size() + most - std::min(most, size));
      std::string changed = line;
      changed.resize(std::max(max_size, line.size()));
      changed.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(changed.data()), line.size(),
                                      changed.size()));
      line = changed;
    }
  }
  const std::string text = join_lines(lines);
  const std::size_t size_taken = std::min(text.size(), most);
  std::copy_n(text.begin(), size_taken, data);
  return size_taken;
}

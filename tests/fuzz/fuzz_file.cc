// Reads any bytes as a snapshot: as a file if they begin like zstd data, otherwise as its
// decompressed text. Checks that memory and time stay within their limits. A loaded snapshot must
// be the same after it is written and loaded again. A text that is passed in slices of one byte
// must result in the same snapshot or the same error.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include "core/file/capture_file.hpp"
#include "core/file/read/load_text.hpp"
#include "core/file/write/document.hpp"
#include "tests/unit/support/idle_host.hpp"

namespace {

// Loading takes milliseconds, or tens of them under sanitizers. A longer time means that the work
// is not limited by the size of the input.
constexpr std::clock_t kMaxSeconds = 20;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ctprof::tests::shipped_vocabulary;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::clock_t start = std::clock();
  const auto loaded = bytes.starts_with('\x28')
                          ? ctprof::CaptureFile(bytes, {"fuzz"}).load(shipped_vocabulary())
                          : ctprof::load_text(bytes, "fuzz", shipped_vocabulary());
  if (std::clock() - start > kMaxSeconds * CLOCKS_PER_SEC) std::abort();
  if (!bytes.starts_with('\x28')) {
    const auto by_byte = ctprof::load_text(bytes, "fuzz", shipped_vocabulary(), 1);
    if (loaded.has_value() != by_byte.has_value()) std::abort();
    if (loaded && !ctprof::tests::difference(*loaded, *by_byte).empty()) std::abort();
    if (!loaded && loaded.error().text != by_byte.error().text) std::abort();
  }
  if (!loaded) return 0;
  ctprof::StringSink sink;
  if (!ctprof::Document(*loaded, shipped_vocabulary()).write(sink)) std::abort();
  const auto again = ctprof::load_text(sink.text(), "fuzz", shipped_vocabulary());
  if (!again || !ctprof::tests::difference(*loaded, *again).empty()) std::abort();
  return 0;
}

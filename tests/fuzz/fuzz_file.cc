// Any bytes as a snapshot: compressed if they begin so, else the text that a file unfolds to. No
// crash, no memory or time beyond the limits, and whatever loads can be written, and is then the
// same when it is loaded again. Letter by letter, when no row takes the short way, a text is the
// same snapshot, or refused for the same reason.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include "core/file/read/load.hpp"
#include "core/file/write/document.hpp"
#include "tests/unit/support/file_world.hpp"

namespace {

// Loading takes milliseconds, and under sanitizers some tens of them; what takes so long is not
// bounded by its size.
constexpr std::clock_t kMostSeconds = 20;

// Without the byte, which is that of a slice.
std::string refusal(const ctprof::Result<ctprof::Snapshot>& loaded) {
  return loaded.error().text.substr(0, loaded.error().text.rfind(" (byte "));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ctprof::tests::whole_vocabulary;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::clock_t start = std::clock();
  const auto loaded = bytes.starts_with('\x28')
                          ? ctprof::load_bytes(bytes, {"fuzz"}, whole_vocabulary())
                          : ctprof::load_text(bytes, "fuzz", whole_vocabulary());
  if (std::clock() - start > kMostSeconds * CLOCKS_PER_SEC) std::abort();
  if (!bytes.starts_with('\x28')) {
    const auto by_letter = ctprof::load_text(bytes, "fuzz", whole_vocabulary(), 1);
    if (loaded.has_value() != by_letter.has_value()) std::abort();
    if (loaded && !ctprof::tests::difference(*loaded, *by_letter).empty()) std::abort();
    if (!loaded && refusal(loaded) != refusal(by_letter)) std::abort();
  }
  if (!loaded) return 0;
  ctprof::StringSink sink;
  if (!ctprof::Document(*loaded, whole_vocabulary()).write(sink)) std::abort();
  const auto again = ctprof::load_text(sink.text(), "fuzz", whole_vocabulary());
  if (!again || !ctprof::tests::difference(*loaded, *again).empty()) std::abort();
  return 0;
}

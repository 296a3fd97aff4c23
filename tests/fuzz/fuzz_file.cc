// Any bytes as a snapshot: compressed if they begin so, else the text that a file unfolds to. No crash, no memory beyond the limits, and
// whatever loads can be written, and is then the same when it is loaded again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/file/document.hpp"
#include "core/file/load.hpp"
#include "tests/unit/file_world.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ctprof::tests::whole_vocabulary;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto loaded = bytes.starts_with('\x28') ? ctprof::load_bytes(bytes, "fuzz", whole_vocabulary())
                                                : ctprof::load_text(bytes, "fuzz", whole_vocabulary());
  if (!loaded) return 0;
  ctprof::StringSink sink;
  if (!ctprof::Document(*loaded, whole_vocabulary()).write(sink)) std::abort();
  const auto again = ctprof::load_text(sink.text(), "fuzz", whole_vocabulary());
  if (!again || !ctprof::tests::difference(*loaded, *again).empty()) std::abort();
  return 0;
}

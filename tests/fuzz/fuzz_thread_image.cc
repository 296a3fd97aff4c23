// Parses any bytes as the stat file that identifies the program of a thread.

#include <cstddef>
#include <cstdint>

#include "plugins/jemalloc-ptrace/program.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto image =
      ctprof::jemalloc::parse_thread_image({reinterpret_cast<const char*>(data), size});
  if (!is_same_program(image, image)) __builtin_trap();
  return 0;
}

// Reads any bytes as the file of a plugin. Checks that reading terminates, and that names are
// shorter than PATH_MAX.

#include <sys/mman.h>
#include <unistd.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/registry/plugin_file.hpp"
#include "ctprof/files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ctprof::sdk::Fd fd(::memfd_create("fuzz", MFD_CLOEXEC));
  if (::write(fd.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  const auto file = ctprof::read_plugin_file(fd.get());
  if (!file) return 0;
  for (const auto& names : {file->library_directories, file->libraries})
    for (const auto& name : names)
      if (name.size() >= PATH_MAX) std::abort();
  return 0;
}

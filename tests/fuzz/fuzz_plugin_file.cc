// Any bytes as the file of a plugin: no crash, and no end of reading. Names that are found are
// those of a path's length at most.

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
  for (const auto& names : {file->directories, file->libraries})
    for (const auto& name : names)
      if (name.size() >= PATH_MAX) std::abort();
  return 0;
}

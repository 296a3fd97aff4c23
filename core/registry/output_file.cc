#include "core/registry/output_file.hpp"

#include <fcntl.h>
#include <sys/auxv.h>

#include <cerrno>
#include <utility>

#include "core/registry/plugin_file.hpp"
#include "core/registry/shared_object.hpp"

namespace ctprof {
namespace {

// O_NONBLOCK: a FIFO is opened, and refused later.
Result<sdk::Fd> open_for_reading(const std::string& path) {
  sdk::Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) return Error{std::string("it cannot be opened: ") + std::strerror(errno)};
  return fd;
}

}  // namespace

Result<OutputFile> open_output_file(const std::string& path) {
  if (::getauxval(AT_SECURE) == 0) {
    CTPROF_TRY_VALUE(auto fd, open_for_reading(path));
    return OutputFile{path, std::move(fd)};
  }
  const std::size_t slash = path.rfind('/');
  CTPROF_TRY_VALUE(const auto directory, open_trusted_directory(path.substr(0, slash)));
  CTPROF_TRY_VALUE(auto fd, open_trusted_file(directory.get(), path.substr(slash + 1)));
  CTPROF_TRY_VALUE(const auto file, read_libraries(fd.get()));
  CTPROF_TRY(check_trusted_libraries(file));
  return OutputFile{path, std::move(fd)};
}

bool is_output_file(const std::string& path) {
  const auto fd = open_for_reading(path);
  return fd && exports_output(fd->get());
}

}  // namespace ctprof

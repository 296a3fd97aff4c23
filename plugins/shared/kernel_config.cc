#include "plugins/shared/kernel_config.hpp"

#include <fcntl.h>
#include <sys/utsname.h>
#include <zlib.h>

#include <array>
#include <memory>
#include <string_view>

#include "ctprof/files.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kLineBytes = 4096;

sdk::Fd opened(const sdk::Host& host, KernelConfig which) {
  sdk::Fd file(::openat(host.proc(), "config.gz", O_RDONLY | O_CLOEXEC));
  utsname name;
  if (file || which == KernelConfig::InProc || !host.live() || ::uname(&name) != 0) return file;
  return sdk::Fd(
      ::open((std::string("/boot/config-") + name.release).c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

// zlib hands on text that is not compressed as it is.
std::optional<bool> is_built_with(const sdk::Host& host, const std::string& option,
                                  KernelConfig which) {
  sdk::Fd file = opened(host, which);
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> config(
      file ? ::gzdopen(file.get(), "r") : nullptr, &::gzclose);
  if (!config) return {};
  file.release();
  std::array<char, kLineBytes> line;
  while (::gzgets(config.get(), line.data(), line.size()))
    if (sdk::trimmed(line.data()) == option + "=y") return true;
  return false;
}

}  // namespace ctprof

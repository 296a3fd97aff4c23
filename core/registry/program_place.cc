#include "core/registry/program_place.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <filesystem>

namespace ctprof {

namespace fs = std::filesystem;

// What the kernel was asked to run, where there is no /proc. Whoever starts a program that has more
// rights than themselves chooses this name, so it counts for nothing then.
static fs::path started_as() {
  const auto* name = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  if (!name || ::getauxval(AT_SECURE) != 0) return {};
  std::error_code error;
  return fs::canonical(name, error);
}

std::string program_directory() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return (error ? started_as() : program).parent_path().string();
}

std::string own_plugin_directory() {
  const fs::path here = program_directory();
  if (here.empty()) return {};
  const fs::path build_tree = here.parent_path().parent_path();
  if (::access((build_tree / "build.ninja").c_str(), F_OK) == 0)
    return (build_tree / "plugins").string();
  fs::path prefix = here;
  for (const fs::path& part : fs::path(CTPROF_BIN_DIR))
    if (part != ".") prefix = prefix.parent_path();
  return (prefix / CTPROF_PLUGIN_DIR).string();
}

}  // namespace ctprof

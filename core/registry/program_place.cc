#include "core/registry/program_place.hpp"

#include <unistd.h>

#include <filesystem>

namespace ctprof {

namespace fs = std::filesystem;

std::string program_directory() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().string();
}

std::string own_plugin_directory() {
  const fs::path here = program_directory();
  if (here.empty()) return {};
  const fs::path build_tree = here.parent_path().parent_path();
  if (::access((build_tree / "build.ninja").c_str(), F_OK) == 0) return (build_tree / "plugins").string();
  fs::path prefix = here;
  for (const fs::path& part : fs::path(CTPROF_BIN_DIR))
    if (part != ".") prefix = prefix.parent_path();
  return (prefix / CTPROF_PLUGIN_DIR).string();
}

}  // namespace ctprof

#include "core/registry/loader.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/dll/runtime_symbol_info.hpp>
#include <boost/dll/shared_library.hpp>
#include <boost/filesystem.hpp>
#include <fstream>
#include <mutex>

#include "core/base/nearest.hpp"

namespace ctprof {
namespace {

namespace fs = boost::filesystem;

// Libraries are never closed: what they made may outlive any scope of ours. Each is held once, however often it is loaded.
void hold_open(const boost::dll::shared_library& library) {
  static auto* libraries = new std::vector<boost::dll::shared_library>;
  static std::mutex holding;
  const std::lock_guard lock(holding);
  const auto is_same = [&](const auto& held) { return held.native() == library.native(); };
  if (std::none_of(libraries->begin(), libraries->end(), is_same)) libraries->push_back(library);
}

bool is_elf(const std::string& path) {
  char magic[SELFMAG] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  return std::equal(magic, magic + SELFMAG, ELFMAG);
}

// How many bytes the library says its symbol has; what a lying size field would claim beyond that is not there.
std::size_t symbol_size(const void* address) {
  Dl_info info;
  void* symbol = nullptr;
  const int found = ::dladdr1(address, &info, &symbol, RTLD_DL_SYMENT);
  return found != 0 && symbol ? static_cast<const ElfW(Sym)*>(symbol)->st_size : 0;
}

// The linker's own words out of the exception's; of the path that it begins with, there is no need.
std::string words_of(const std::exception& exception, const std::string& path) {
  const std::string text = exception.what();
  const std::string before = "dlerror system message: ";
  const auto from = text.find(before);
  if (from == text.npos) return text;
  const std::string words = text.substr(from + before.size(), text.rfind(')') - from - before.size());
  return words.starts_with(path + ": ") ? words.substr(path.size() + 2) : words;
}

Result<Plugin> load(const std::string& path) {
  if (!is_elf(path)) return Error{"it is not an ELF shared object"};
  try {
    boost::dll::shared_library library(path, boost::dll::load_mode::rtld_now);
    hold_open(library);
    if (!library.has("ctprof_plugin")) return Error{"it exports no symbol 'ctprof_plugin'"};
    const auto& table = library.get<const ctprof_plugin>("ctprof_plugin");
    auto plugin = read_plugin(table, symbol_size(&table));
    if (plugin) plugin->path = path;
    return plugin;
  } catch (const std::exception& exception) {
    return Error{words_of(exception, path)};
  }
}

std::vector<std::string> libraries_in(const std::string& directory) {
  std::vector<std::string> paths;
  boost::system::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".so") paths.push_back(it->path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Whether what is there is root's, and writable by nobody else.
bool may_load_privileged(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && status.st_uid == 0 && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool knows(const LoadedPlugins& loaded, std::string_view name) {
  return std::any_of(loaded.plugins.begin(), loaded.plugins.end(), [&](const Plugin& plugin) { return plugin.name == name; });
}

void load_directory(const std::string& directory, bool shipped, LoadedPlugins& loaded) {
  for (const std::string& path : libraries_in(directory)) {
    if (runs_privileged() && !(may_load_privileged(directory) && may_load_privileged(path))) {
      loaded.refused.push_back({path, "it or its directory is not root's alone, and this process is privileged"});
      continue;
    }
    auto plugin = load(path);
    if (!plugin) {
      loaded.refused.push_back({path, plugin.error().text});
    } else if (knows(loaded, plugin->name)) {
      loaded.refused.push_back({path, "a plugin named '" + plugin->name + "' is loaded already"});
    } else {
      plugin->shipped = shipped;
      loaded.plugins.push_back(std::move(*plugin));
    }
  }
}

// Why `name` is not there: its file was refused, or there is none.
Error missing(const std::string& name, const LoadedPlugins& loaded) {
  for (const Refusal& refusal : loaded.refused)
    if (fs::path(refusal.what).stem() == name) return {"plugin '" + name + "' (" + refusal.what + "): " + refusal.reason};
  std::vector<std::string> names;
  for (const Plugin& plugin : loaded.plugins)
    if (!plugin.layout) names.push_back(plugin.name);
  return {"there is no plugin '" + name + "'" + nearest_hint(name, names)};
}

Result<void> keep_only(const std::vector<std::string>& only, LoadedPlugins& loaded) {
  for (const std::string& name : only)
    if (!knows(loaded, name)) return missing(name, loaded);
  std::erase_if(loaded.plugins, [&](const Plugin& plugin) {
    return !plugin.layout && std::find(only.begin(), only.end(), plugin.name) == only.end();
  });
  loaded.refused.clear();
  return {};
}

}  // namespace

Result<LoadedPlugins> load_plugins(const LoadOptions& options) {
  LoadedPlugins loaded;
  load_directory(options.own_directory, true, loaded);
  if (!runs_privileged())
    for (const std::string& directory : options.directories) load_directory(directory, false, loaded);
  if (options.only)
    if (auto kept = keep_only(*options.only, loaded); !kept) return kept.error();
  return loaded;
}

std::string own_plugin_directory() {
  const fs::path here = boost::dll::program_location().parent_path();
  boost::system::error_code error;
  const fs::path build_tree = here / ".." / "..";
  if (fs::exists(build_tree / "build.ninja", error)) return fs::weakly_canonical(build_tree / "plugins", error).string();
  fs::path prefix = here;
  for (const fs::path& part : fs::path(CTPROF_BIN_DIR))
    if (part != ".") prefix = prefix.parent_path();
  return (prefix / CTPROF_PLUGIN_DIR).string();
}

bool runs_privileged() { return ::getauxval(AT_SECURE) != 0; }

std::vector<std::string> closed_to_privileged(const std::string& directory) {
  if (!may_load_privileged(directory)) return {directory};
  std::vector<std::string> closed = libraries_in(directory);
  std::erase_if(closed, &may_load_privileged);
  return closed;
}

}  // namespace ctprof

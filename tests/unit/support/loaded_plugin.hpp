// One of our plugins as it was built, loaded for as long as the test runs. CTPROF_PLUGIN_BUILD_DIR
// says where they are.

#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "ctprof/abi.h"

class LoadedPlugin {
 public:
  explicit LoadedPlugin(const std::string& name) {
    const char* dir = std::getenv("CTPROF_PLUGIN_BUILD_DIR");
    const std::string path = std::string(dir ? dir : ".") + "/" + name + ".so";
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(::dlerror());
    plugin_ = static_cast<const ctprof_plugin*>(::dlsym(library, "ctprof_plugin"));
    if (!plugin_) throw std::runtime_error(path + " exports no ctprof_plugin");
  }

  const ctprof_plugin* operator->() const { return plugin_; }
  const ctprof_plugin& operator*() const { return *plugin_; }

 private:
  const ctprof_plugin* plugin_;
};

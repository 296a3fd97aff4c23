// Loads one of our plugins as built, for the duration of a test. The environment variable
// CTPROF_PLUGIN_BUILD_DIR names the directory that contains the plugins.

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

// Loads one of our plugins as built, for the duration of a test. The environment variable
// CTPROF_PLUGIN_BUILD_DIR names the directory that contains the plugins.
//
// If the plugin cannot be loaded, the program prints one sentence and exits: a test may load it in
// a thread or in a child process, where Boost.Test does not receive an exception, and hangs.

#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "ctprof/abi.h"

class LoadedPlugin {
 public:
  explicit LoadedPlugin(const std::string& name) {
    const char* dir = std::getenv("CTPROF_PLUGIN_BUILD_DIR");
    const std::string path = std::string(dir ? dir : ".") + "/" + name + ".so";
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) exit_without(::dlerror());
    plugin_ = static_cast<const ctprof_plugin*>(::dlsym(library, "ctprof_plugin"));
    if (!plugin_) exit_without(path + ": no symbol ctprof_plugin");
  }

  const ctprof_plugin* operator->() const { return plugin_; }
  const ctprof_plugin& operator*() const { return *plugin_; }

 private:
  [[noreturn]] static void exit_without(const std::string& reason) {
    std::fprintf(stderr, "cannot load plugin: %s; build the target 'product'\n", reason.c_str());
    std::_Exit(1);
  }

  const ctprof_plugin* plugin_;
};

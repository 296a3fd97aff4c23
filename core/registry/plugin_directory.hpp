// A directory that plugins are looked for in: opened, listed, and its files opened and looked at
// before anything of them is loaded.
//
// Everything goes by the descriptor of the directory, so that files are those of the directory that
// was checked. Under Trust::RootAlone each must be in the hands of root alone (trusted_path.hpp),
// and so must directories that a plugin names for libraries of its own.
//
// What is here:   from a path to files that may be loaded, each with the reason where it may not;
// nothing is loaded. What is not:    loading (loader.hpp), what a file says of itself
// (plugin_file.hpp).

#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/registry/plugin_file.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

enum class Trust {
  Anybody,    // whoever starts the process chooses what it loads
  RootAlone,  // he must not, for the process can do what he cannot
};

struct OpenPlugin {
  std::string path;
  sdk::Fd fd;
  PluginFile file;
};

class PluginDirectory {
 public:
  // Opens and lists it. The error names the path and the cause.
  static Result<PluginDirectory> open(const std::string& path, Trust trust);

  // File names that end in .so, in order.
  const std::vector<std::string>& names() const { return names_; }
  // The path that a name of names() stands for.
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }
  // Opens a file without waiting and looks at it. The error is the reason alone.
  Result<OpenPlugin> open_file(const std::string& name) const;
  // Whether the file and what it names are in the hands of root alone, be it sound or not. The
  // error begins with "it". REQUIRES: Trust::RootAlone.
  Result<void> check_trust(const std::string& name) const;

 private:
  Result<sdk::Fd> open_descriptor(const std::string& name) const;
  Error refusal(const Error& why) const;
  PluginDirectory(std::string path, Trust trust, sdk::Fd fd, std::vector<std::string> names)
      : path_(std::move(path)), trust_(trust), fd_(std::move(fd)), names_(std::move(names)) {}

  std::string path_;
  Trust trust_;
  sdk::Fd fd_;
  std::vector<std::string> names_;
};

// The directory of the running program; empty where nothing says that can be trusted.
std::string program_directory();

// The directory of ctprof's own plugins, seen from the running program: in a build tree that one's,
// else where it is installed. Empty where it is not known where the program is.
std::string own_plugin_directory();

}  // namespace ctprof

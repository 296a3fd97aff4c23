// ctprof plugin new: writes the files of a new plugin into a new directory.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "ctprof/files.hpp"
#include "tools/ctprof/plugin/own_templates.hpp"
#include "tools/ctprof/plugin/plugin.hpp"
#include "tools/ctprof/plugin/scaffold.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

namespace fs = std::filesystem;

Result<void> write_new_file(const fs::path& path, const std::string& text) {
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (failed) return error("creating", path.parent_path().string(), failed.message());
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return out ? Result<void>() : error("writing", path.string(), std::strerror(errno));
}

// Fails if the directory exists, so that no existing file is changed.
Result<void> create_new_directory(const std::string& name) {
  std::error_code failed;
  const bool is_new = fs::create_directory(name, failed);
  if (failed) return error("creating", name, failed.message());
  if (is_new) return {};
  return Error{"creating '" + name + "': it exists; choose another name, or remove it"};
}

// Returns the commands in the README of the plugin, which begins with them.
std::string describe_next_steps(const std::string& name, const std::vector<ScaffoldFile>& files) {
  constexpr std::string_view kIndent = "    ";
  const auto readme = std::ranges::find(files, "README.md", &ScaffoldFile::path);
  std::string_view rest = readme->text;
  std::string steps = "cd " + name + "\n";
  for (bool is_in_block = false; !rest.empty();) {
    const std::string_view line = sdk::take(rest, '\n');
    if (is_in_block && !line.starts_with(kIndent)) break;
    is_in_block = line.starts_with(kIndent);
    if (is_in_block) steps += std::string(line.substr(kIndent.size())) + "\n";
  }
  return steps;
}

}  // namespace

int run_plugin_new(const PluginCommandOptions& options) {
  if (options.arguments.size() != 2)
    return fail("missing NAME; usage: ctprof plugin new NAME [--lang LANGUAGE] [--source KIND]");
  const std::string& name = options.arguments[1];
  if (!is_plugin_name(name))
    return fail("invalid NAME '" + name +
                "': a plugin's name has lower case letters, digits and _, begins with a letter, "
                "and has at most 32 characters");
  if (find_own_templates(options.source) && options.language == kPluginLanguages.back())
    return fail("a plugin with '--source " + std::string(options.source) +
                "' is written in C or C++: use --lang c or --lang c++");
  if (auto created = create_new_directory(name); !created) return fail(created.error());
  const auto files = make_scaffold_files(name, options.language, options.source);
  for (const ScaffoldFile& file : files)
    if (auto done = write_new_file(fs::path(name) / file.path, file.text); !done)
      return fail(done.error());
  print_note(options, "created '" + name + "' with " + format_count(files.size(), "file", "files"));
  return print(describe_next_steps(name, files));
}

}  // namespace ctprof::cli

// ctprof plugin new: writes the files of a new plugin into a new directory.

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "tools/ctprof/plugin/output_scaffold.hpp"
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

std::string describe_next_steps(const std::string& name, std::string_view language,
                                std::string_view source) {
  if (language == "rust")
    return "cd " + name + "\ncargo build --offline --release && cargo test --offline\n" +
           "python3 test_" + name + ".py ctprof target/release\n" +
           "ctprof plugin check target/release/lib" + name + ".so\n" +
           "ctprof --plugin-path target/release record -d 5s -o run.ctprof.zst\n" +
           "ctprof show run.ctprof.zst\n";
  if (source == kOutputSource)
    return "cd " + name + "\nmeson setup build && meson compile -C build && meson test -C build\n" +
           "ctprof record -d 5s -o run.ctprof.zst\n" +
           "ctprof export run.ctprof.zst --plugin-path build --to " + name + " -o run.txt\n";
  return "cd " + name + "\nmeson setup build && meson compile -C build && meson test -C build\n" +
         "ctprof plugin check build/" + name + ".so\n" +
         "ctprof --plugin-path build record -d 5s -o run.ctprof.zst\nctprof show run.ctprof.zst\n";
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
  if (options.source == kOutputSource && options.language == kPluginLanguages.back())
    return fail("an output plugin is written in C or C++: use --lang c or --lang c++");
  if (auto created = create_new_directory(name); !created) return fail(created.error());
  const auto files = make_scaffold_files(name, options.language, options.source);
  for (const ScaffoldFile& file : files)
    if (auto done = write_new_file(fs::path(name) / file.path, file.text); !done)
      return fail(done.error());
  print_note(options, "created '" + name + "' with " + format_count(files.size(), "file", "files"));
  return print(describe_next_steps(name, options.language, options.source));
}

}  // namespace ctprof::cli

// ctprof version: prints the version, and with --build how it was built.

#include "core/base/version.hpp"

#include <linux/version.h>

#include <array>
#include <string>
#include <string_view>

#include "build_info.hpp"
#include "core/base/json_writer.hpp"
#include "ctprof/abi.h"
#include "tools/ctprof/options/command.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {
namespace {

#ifdef __clang__
constexpr std::string_view kCompiler = __VERSION__;
#else
constexpr std::string_view kCompiler = "GCC " __VERSION__;
#endif

// Formats LINUX_VERSION_CODE of the kernel headers, for example "6.1.158".
std::string kernel_headers() {
  constexpr unsigned kCode = LINUX_VERSION_CODE;
  return std::to_string(kCode >> 16) + "." + std::to_string(kCode >> 8 & 0xff) + "." +
         std::to_string(kCode & 0xff);
}

struct BuildFact {
  std::string_view key;
  std::string_view label;
  std::string value;
};

// To add a fact about the build, add a line.
std::array<BuildFact, 7> build_facts() {
  return {{{"compiler", "compiler", std::string(kCompiler)},
           {"build_type", "build type", CTPROF_BUILD_TYPE},
           {"options", "options", CTPROF_BUILD_OPTIONS},
           {"kernel_headers", "kernel headers", kernel_headers()},
           {"bpf", "BPF programs", CTPROF_BUILD_BPF},
           {"libraries", "libraries", CTPROF_BUILD_LIBRARIES},
           {"plugins", "plugins", CTPROF_BUILD_PLUGINS}}};
}

std::string json_of(bool with_build) {
  JsonWriter out(Escape::Unprintable);
  out.raw("{\"schema\":1,");
  out.member("version", kVersion);
  out.member("abi", std::uint64_t{CTPROF_ABI});
  if (with_build) {
    out.key("build");
    out.put('{');
    for (const BuildFact& fact : build_facts()) out.member(fact.key, fact.value);
    out.close('}');
  }
  out.close('}');
  out.put('\n');
  return std::string(out.view());
}

struct VersionOptions : CommonOptions {
  bool build = false;
};

constexpr auto kVersionOptions =
    option_list<VersionOptions>(kVerbose, kScreen, kQuiet,
                                switch_on("build", member<&VersionOptions::build>,
                                          "Also print how ctprof was built: compiler, options, "
                                          "kernel headers, libbpf, libraries, plugins.")
                                    .only_typed(),
                                kHelp);

int run_version(const VersionOptions& options) {
  if (options.format == Format::Json) return print(json_of(options.build));
  std::string text =
      "ctprof " + std::string(kVersion) + " (plugin ABI " + std::to_string(CTPROF_ABI) + ")\n";
  if (options.build)
    for (const BuildFact& fact : build_facts()) {
      std::string label = "  " + std::string(fact.label) + ":";
      label.resize(18, ' ');
      text += label + fact.value + "\n";
    }
  return print(text);
}

}  // namespace

int print_version(const CommonOptions& options) {
  VersionOptions version;
  static_cast<CommonOptions&>(version) = options;
  return run_version(version);
}

extern constinit const CommandInfo kVersionCommand =
    make_command<VersionOptions, run_version>({.name = "version",
                                               .similar_names = "about",
                                               .summary = "print the version",
                                               .example = "ctprof version"},
                                              kVersionOptions);

}  // namespace ctprof::cli

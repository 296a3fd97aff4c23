// file_time: how long the core takes for one snapshot file, told by a program that does nothing else.
//
//   file_time load FILE         loads it
//   file_time write FILE OUT    loads it, then writes it to OUT; the writing alone is timed, and it is not synced
//
// Prints {"ns": N}. The peak of memory is what the kernel says about the process (tests/bench/measure.py).

#include <chrono>
#include <cstdio>
#include <string>

#include "core/file/file.hpp"
#include "core/registry/loader.hpp"
#include "core/registry/registry.hpp"

namespace {

using Clock = std::chrono::steady_clock;

int fail(const ctprof::Error& error) {
  std::fprintf(stderr, "file_time: %s\n", error.text.c_str());
  return 2;
}

int say(Clock::time_point start) {
  const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start);
  std::printf("{\"ns\": %lld}\n", static_cast<long long>(took.count()));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 2 ? argv[1] : "";
  if (!(verb == "load" && argc == 3) && !(verb == "write" && argc == 4)) {
    std::fputs("usage: file_time load FILE | file_time write FILE OUT\n", stderr);
    return 2;
  }
  auto plugins = ctprof::load_plugins({.own_directory = ctprof::own_plugin_directory(), .directories = {}, .only = {}});
  if (!plugins) return fail(plugins.error());
  const ctprof::Registry registry(std::move(*plugins));

  auto start = Clock::now();
  const auto snapshot = ctprof::load_file(argv[2], registry.vocabulary());
  if (!snapshot) return fail(snapshot.error());
  if (verb == "load") return say(start);

  start = Clock::now();
  const auto written = ctprof::write_file(*snapshot, registry.vocabulary(), argv[3], {.sync = false});
  return written ? say(start) : fail(written.error());
}

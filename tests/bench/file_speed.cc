// Times loading a snapshot, and writing it again, in this process: file_speed FILE [REPEATS]. Milliseconds, one line a repeat.

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "core/file/file.hpp"
#include "tests/unit/file_world.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: file_speed FILE [REPEATS]\n"), 2;
  const std::string path = argv[1], copy = path + ".copy";
  for (int repeat = 0; repeat < (argc > 2 ? std::atoi(argv[2]) : 1); ++repeat) {
    const auto start = Clock::now();
    const auto snapshot = ctprof::load_file(path, ctprof::tests::whole_vocabulary());
    const double load = ms_since(start);
    if (!snapshot) return std::fprintf(stderr, "file_speed: %s\n", snapshot.error().text.c_str()), 2;
    struct rusage usage {};
    getrusage(RUSAGE_SELF, &usage);
    const auto again = Clock::now();
    const auto written = ctprof::write_file(*snapshot, ctprof::tests::whole_vocabulary(), copy, {.sync = false, .level = 3});
    if (!written) return std::fprintf(stderr, "file_speed: %s\n", written.error().text.c_str()), 2;
    std::printf("load %.1f write %.1f text %llu peak_mib %ld\n", load, ms_since(again),
                static_cast<unsigned long long>(written->json_bytes), usage.ru_maxrss / 1024);
  }
  std::remove(copy.c_str());
}

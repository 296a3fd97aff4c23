// Measures loading a snapshot, and writing it in one of the layouts (default: rows), in this
// process: file_speed FILE [REPEATS [rows|columns]]. Prints milliseconds, one line per repeat; cpu
// is the CPU time of the loading thread, without the decompressing one.

#include <sys/resource.h>
#include <time.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/file/capture_file.hpp"
#include "core/file/file.hpp"
#include "tests/unit/support/idle_host.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double thread_cpu_ms() {
  struct timespec now {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: file_speed FILE [REPEATS [rows|columns]]\n"), 2;
  const std::string path = argv[1], copy = path + ".copy";
  const auto layout = argc > 3 && std::strcmp(argv[3], "columns") == 0 ? ctprof::FileLayout::Columns
                                                                       : ctprof::FileLayout::Rows;
  // A program loads the definitions of all metrics once, before any file, so this is not measured.
  const ctprof::Vocabulary& vocabulary = ctprof::tests::shipped_vocabulary();
  for (int repeat = 0; repeat < (argc > 2 ? std::atoi(argv[2]) : 1); ++repeat) {
    const auto start = Clock::now();
    const double cpu_start = thread_cpu_ms();
    const auto snapshot = ctprof::load_file(path, vocabulary);
    const double load = ms_since(start), cpu = thread_cpu_ms() - cpu_start;
    if (!snapshot)
      return std::fprintf(stderr, "file_speed: %s\n", snapshot.error().text.c_str()), 2;
    struct rusage usage {};
    getrusage(RUSAGE_SELF, &usage);
    const auto write_start = Clock::now();
    const auto written =
        ctprof::write_file(*snapshot, vocabulary, copy, {.layout = layout, .sync = false});
    if (!written) return std::fprintf(stderr, "file_speed: %s\n", written.error().text.c_str()), 2;
    std::printf("load %.1f write %.1f text %llu peak_mib %ld cpu %.1f\n", load,
                ms_since(write_start), static_cast<unsigned long long>(written->json_bytes),
                usage.ru_maxrss / 1024, cpu);
  }
  std::remove(copy.c_str());
}

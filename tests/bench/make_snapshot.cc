// Writes a snapshot of synthetic threads, for benchmarks of the file and of compare:
//
//   make_snapshot FILE THREADS [NAMES [CGROUPS [THREADS_PER_PROCESS [SEED [busy]]]]]
//
// By default threads are idle, with small numbers that are mostly equal, as on a real host; "busy"
// uses numbers of all widths.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/file/file.hpp"
#include "tests/unit/support/idle_host.hpp"

int main(int argc, char** argv) {
  if (argc < 3)
    return std::fprintf(stderr,
                        "usage: make_snapshot FILE THREADS [NAMES [CGROUPS [THREADS_PER_PROCESS "
                        "[SEED [busy]]]]]\n"),
           2;
  const auto number = [&](int index, std::size_t default_value) {
    return argc > index ? std::strtoul(argv[index], nullptr, 10) : default_value;
  };
  ctprof::tests::HostShape shape;
  shape.threads = number(2, shape.threads);
  shape.names = number(3, shape.names);
  shape.cgroups = number(4, shape.cgroups);
  shape.threads_per_process = number(5, shape.threads_per_process);
  shape.seed = number(6, shape.seed);
  shape.is_busy = argc > 7 && std::string(argv[7]) == "busy";
  const auto snapshot = ctprof::tests::IdleHost(shape).make();
  const auto written = ctprof::write_file(snapshot, ctprof::tests::shipped_vocabulary(), argv[1]);
  if (!written) return std::fprintf(stderr, "make_snapshot: %s\n", written.error().text.c_str()), 2;
  std::printf("%zu threads, %llu bytes of text, %llu bytes of file\n", shape.threads,
              static_cast<unsigned long long>(written->json_bytes),
              static_cast<unsigned long long>(written->file_bytes));
}

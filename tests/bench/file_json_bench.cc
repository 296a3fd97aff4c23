// Inner loops of the file: writing a snapshot as JSON text, and loading it, without compression.
// Reports throughput in bytes of the text.

#include <benchmark/benchmark.h>

#include "core/file/read/load_text.hpp"
#include "core/file/write/document.hpp"
#include "tests/unit/support/idle_host.hpp"

namespace ctprof::tests {
namespace {

Snapshot host_of(bool is_busy) {
  HostShape shape;
  shape.threads = 2000;
  shape.is_busy = is_busy;
  return IdleHost(shape).make();
}

class CountingSink final : public Sink {
 public:
  Result<void> write(std::string_view text) override {
    bytes += text.size();
    return {};
  }
  std::size_t bytes = 0;
};

void write_json(benchmark::State& state) {
  const Snapshot snapshot = host_of(state.range(0) != 0);
  CountingSink sink;
  for (auto _ : state) {
    auto done = Document(snapshot, shipped_vocabulary()).write(sink);
    benchmark::DoNotOptimize(done);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(sink.bytes));
}

void read_json(benchmark::State& state) {
  StringSink sink;
  if (!Document(host_of(state.range(0) != 0), shipped_vocabulary()).write(sink))
    return state.SkipWithError("not written");
  for (auto _ : state) {
    auto snapshot = load_text(sink.text(), "bench", shipped_vocabulary());
    benchmark::DoNotOptimize(snapshot);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(sink.text().size()));
}

BENCHMARK(write_json)->ArgName("busy")->Arg(0)->Arg(1);
BENCHMARK(read_json)->ArgName("busy")->Arg(0)->Arg(1);

}  // namespace
}  // namespace ctprof::tests

BENCHMARK_MAIN();

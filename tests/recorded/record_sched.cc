#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "sched_events.skel.h"
#include "tests/recorded/record_fixtures.hpp"
#include "tests/recorded/sched_trace.hpp"
#include "tests/recorded/workload.hpp"

namespace ctprof::recorded {
namespace {

using namespace sched_trace;

constexpr useconds_t kReadUs = 10'000;

struct Destroy {
  void operator()(sched_events_bpf* programs) const { sched_events_bpf__destroy(programs); }
  void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
};

// Selects the events between two thread starts, numbered from 1; 0 means the beginning or the end.
struct EventRange {
  int from_start = 0, to_start = 0;
};

void put_range(const std::vector<sched_event>& events, const EventRange& part, TraceWriter& trace) {
  int start_count = 0;
  for (const sched_event& event : events) {
    births += event.kind == SCHED_BIRTH;
    if (births >= part.from_birth && (part.to_birth == 0 || births < part.to_birth))
      trace.put_value(kEvent, event);
  }
}

void record(const std::string& name, const std::vector<std::string>& command,
            const EventRange& part, const RecordingDirectories& places) {
  Workload workload(command);
  TraceWriter trace;
  add_host_facts(trace);
  trace.add_layouts(kLayouts);
  trace.add_fact("pid", std::to_string(workload.pid()));
  const std::unique_ptr<sched_events_bpf, Destroy> programs(sched_events_bpf__open());
  if (!programs) throw std::runtime_error("cannot open the programs");
  programs->rodata->wanted = workload.pid();
  if (sched_events_bpf__load(programs.get()) != 0 || sched_events_bpf__attach(programs.get()) != 0)
    throw std::runtime_error("cannot load the programs");
  std::vector<sched_event> events;
  const auto take = [](void* to, void* data, std::size_t) {
    static_cast<std::vector<sched_event>*>(to)->push_back(*static_cast<sched_event*>(data));
    return 0;
  };
  const std::unique_ptr<ring_buffer, Destroy> ring(
      ring_buffer__new(bpf_map__fd(programs->maps.events), take, &events, nullptr));
  if (!ring) throw std::runtime_error("cannot read the events");
  workload.release();
  while (!workload.has_exited()) {
    ::usleep(kReadUs);
    ring_buffer__consume(ring.get());
  }
  ring_buffer__consume(ring.get());
  if (programs->bss->lost != 0) throw std::runtime_error("events were lost");
  put_part(events, part, trace);
  trace.put_text(kOutput, workload.output());
  trace.save(places.output + "/sched_" + name + ".trace.zst");
}

}  // namespace

void record_sched(const RecordingDirectories& directories) {
  const std::string waits = directories.programs + "/waits";
  record("turns", {waits, "turns", "1", "2"}, {}, directories);
  // Excludes the phases before and after the hand-overs; a thread starts at the beginning of each
  // phase.
  record("kinds", {waits, "kinds", directories.scratch + "/sched"}, {2, 10}, directories);
  record("ends", {directories.programs + "/storm", "300", "2000"}, {}, directories);
  record("takeover", {directories.programs + "/takeover", "naps"}, {}, directories);
}

}  // namespace ctprof::recorded

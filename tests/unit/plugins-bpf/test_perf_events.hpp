// Synthetic perf events: records, rings, a kernel with one CPU, and a target for records.

#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ctprof/records.hpp"
#include "plugins/on-cpu/kernel_input.hpp"
#include "plugins/on-cpu/records.hpp"
#include "plugins/on-cpu/ring.hpp"

namespace test_perf_events {
using namespace ctprof;
using namespace ctprof::on_cpu;

// Builds the bytes of a record; bytes() sets the size in its header.
class RecordBuilder {
 public:
  explicit RecordBuilder(std::uint32_t type, std::uint16_t misc = 0) {
    put(perf_event_header{type, misc, 0});
  }
  template <class T>
  RecordBuilder& put(const T& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
    return *this;
  }
  RecordBuilder& text(std::string text) {
    text.resize((text.size() + 8) / 8 * 8);
    for (const char c : text) put(c);
    return *this;
  }
  RecordBuilder& words(std::initializer_list<std::uint64_t> words) {
    for (const std::uint64_t word : words) put(word);
    return *this;
  }
  RecordBuilder& thread(std::uint32_t tgid, std::uint32_t tid) { return put(tgid).put(tid); }
  Bytes bytes() {
    const auto size = static_cast<std::uint16_t>(bytes_.size());
    std::memcpy(bytes_.data() + offsetof(perf_event_header, size), &size, sizeof size);
    return bytes_;
  }

 private:
  std::vector<std::byte> bytes_;
};

inline constexpr std::uint64_t kKernelContext = static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL);
inline constexpr std::uint64_t kUserContext = static_cast<std::uint64_t>(PERF_CONTEXT_USER);

inline RecordBuilder make_sample(std::uint64_t time, std::initializer_list<std::uint64_t> chain,
                                 std::uint32_t tid = 7) {
  RecordBuilder record(PERF_RECORD_SAMPLE);
  record.thread(tid, tid).put(time).put(std::uint64_t{chain.size()}).words(chain);
  return record;
}

// A ring that the test writes like the kernel.
struct TestRing {
  explicit TestRing(std::size_t size) : data(size / 8), ring(&page, bytes(), size) {}

  std::byte* bytes() { return reinterpret_cast<std::byte*>(data.data()); }
  void write(Bytes record) {
    for (const std::byte byte : record) bytes()[page.data_head++ % (data.size() * 8)] = byte;
  }
  // Returns the times of all records that can be read.
  std::vector<std::uint64_t> read_times() {
    std::vector<std::uint64_t> times;
    for (ring.look_for_records(); !ring.record().empty(); ring.skip())
      times.push_back(read_time(ring.record()));
    ring.release();
    return times;
  }

  perf_event_mmap_page page{};
  std::vector<std::uint64_t> data;
  Ring ring;
};

// Receives the records, changes and losses of a drain.
struct RecordTarget {
  RecordTarget() {
    table.size = sizeof table;
    table.core = this;
    table.message = message;
    table.message_size = sizeof message;
    table.put = [](void* core, const ctprof_record* record) {
      static_cast<RecordTarget*>(core)->records.push_back(*record);
    };
    table.change = [](void* core, const ctprof_change* change) {
      static_cast<RecordTarget*>(core)->changes.push_back(*change);
    };
    table.lose = [](void* core, const ctprof_loss* loss) {
      static_cast<RecordTarget*>(core)->losses.push_back(*loss);
    };
  }

  char message[256]{};
  ctprof_records table{};
  std::vector<ctprof_record> records;
  std::vector<ctprof_change> changes;
  std::vector<ctprof_loss> losses;
};

// A kernel with one CPU whose ring, counters and clock the test sets.
struct TestKernel {
  TestRing ring{1 << 16};
  std::uint64_t now_ns = 1'000'000'000'000;
  std::uint64_t started_ns = 0;
  Counts counts;
  std::vector<int> online{0};
  std::uint64_t idle_ns = 0;

  void write(RecordBuilder record) { ring.write(record.bytes()); }
};

class TestEvent final : public CpuEvent {
 public:
  explicit TestEvent(TestKernel& kernel) : kernel_(kernel) {}
  int start() override { return kernel_.started_ns = kernel_.now_ns, 0; }
  void stop() override {}
  int set_period(std::uint64_t) override { return 0; }
  Ring& ring() override { return kernel_.ring.ring; }
  void look_for_records() override { kernel_.ring.ring.look_for_records(); }
  std::optional<Counts> counts() const override {
    if (kernel_.online.empty()) return std::nullopt;
    kernel_.counts.enabled_ns = kernel_.now_ns - kernel_.started_ns;
    return kernel_.counts;
  }

 private:
  TestKernel& kernel_;
};

class TestInput final : public KernelInput {
 public:
  explicit TestInput(TestKernel& kernel) : kernel_(kernel) {}
  std::uint64_t now_ns(clockid_t) const override { return kernel_.now_ns; }
  std::vector<int> online_cpus() override { return kernel_.online; }
  std::uint64_t idle_ns(int) override { return kernel_.idle_ns; }
  int open(const Sampling&, int, std::size_t, std::unique_ptr<CpuEvent>& event) override {
    event = std::make_unique<TestEvent>(kernel_);
    return 0;
  }

 private:
  TestKernel& kernel_;
};

}  // namespace test_perf_events

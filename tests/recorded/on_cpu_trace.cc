#include "tests/recorded/on_cpu_trace.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace ctprof::recorded::on_cpu_trace {

using on_cpu::Counts;
using on_cpu::CpuEvent;
using on_cpu::Ring;
using on_cpu::Sampling;

namespace {

std::uint64_t unsigned_of(int number) { return static_cast<std::uint64_t>(number); }

// --- recording ---

// Selects and anonymizes the records that a trace keeps.
class RecordFilter {
 public:
  RecordFilter(const std::vector<std::uint64_t>& pids, bool copies)
      : pids_(pids), copies_(copies) {}

  // Returns an empty vector for records that are omitted.
  std::vector<std::byte> copy(Bytes record) const {
    std::vector<std::byte> bytes(record.begin(), record.end());
    switch (on_cpu::read_header(record).type) {
      case PERF_RECORD_SAMPLE: replace_memory(bytes); return bytes;
      case PERF_RECORD_MMAP2:
      case PERF_RECORD_COMM:
        if (!is_of_workload(bytes)) return {};
        if (const auto mapped = on_cpu::parse_mapped(bytes)) remove_directory(mapped->path);
        return bytes;
      default: return bytes;
    }
  }

 private:
  bool is_of_workload(Bytes record) const {
    std::uint32_t tgid = 0;
    std::memcpy(&tgid, record.data() + sizeof(perf_event_header), sizeof tgid);
    return std::ranges::find(pids_, tgid) != pids_.end();
  }
  // Replaces the user memory in a sample by the pattern. These functions return pointers into
  // `bytes`, which may be modified. After the bytes that the kernel copied, a sample contains old
  // contents of the ring.
  void replace_memory(Bytes bytes) const {
    const auto sample = on_cpu::parse_sample(bytes, copies_);
    if (!sample || sample->stack.data() == nullptr) return;
    auto* begin = const_cast<std::uint8_t*>(sample->stack.data());
    const auto* end =
        reinterpret_cast<const std::uint8_t*>(bytes.data() + bytes.size()) - sizeof(std::uint64_t);
    std::memset(begin, pattern_of(sample->tid), static_cast<std::size_t>(end - begin));
  }
  static void remove_directory(std::string_view path) {
    const std::string name(path.substr(path.rfind('/') + 1));
    if (!path.starts_with("/")) return;
    char* at = const_cast<char*>(path.data());
    std::memset(at, 0, path.size());
    *at = '/';
    name.copy(at + 1, name.size());
  }

  const std::vector<std::uint64_t>& pids_;
  bool copies_;
};

class RecordingEvent final : public CpuEvent {
 public:
  RecordingEvent(std::unique_ptr<CpuEvent> event, int cpu, RecordFilter recorded,
                 TraceWriter& trace)
      : event_(std::move(event)), cpu_(unsigned_of(cpu)), recorded_(recorded), trace_(trace) {}

  int start() override { return event_->start(); }
  void stop() override { event_->stop(); }
  int set_period(std::uint64_t) override { return EOPNOTSUPP; }  // traces have one period
  Ring& ring() override { return event_->ring(); }
  void look_for_records() override {
    event_->look_for_records();
    trace_.put_value(kRingRead, CpuValue{cpu_, 0, 0});
    Ring copy = event_->ring();  // reads the ring without consuming it
    for (; !copy.record().empty(); copy.skip()) {
      if (copy.position() < seen_) continue;
      if (const auto bytes = recorded_.copy(copy.record()); !bytes.empty())
        trace_.put(kRecord, bytes);
    }
    seen_ = copy.position();
  }
  std::optional<Counts> counts() const override {
    const auto counts = event_->counts();
    const Counts known = counts.value_or(Counts{});
    trace_.put_value(kCounts, CountsRead{cpu_, counts.has_value(), known.enabled_ns, known.lost});
    return counts;
  }

 private:
  std::unique_ptr<CpuEvent> event_;
  std::uint64_t cpu_;
  RecordFilter recorded_;
  TraceWriter& trace_;
  std::uint64_t seen_ = 0;
};

// --- replaying ---

// Adds a zero for rdi to a sample of version 1 that contains registers, before these.
std::vector<std::byte> add_rdi(Bytes record) {
  constexpr std::size_t kWord = sizeof(std::uint64_t), kCountAt = 3 * kWord;
  std::vector<std::byte> words(record.begin(), record.end());
  perf_event_header header = on_cpu::read_header(record);
  std::uint64_t count = 0, abi = 0;
  if (header.type != PERF_RECORD_SAMPLE) return words;
  std::memcpy(&count, record.data() + kCountAt, kWord);
  const std::size_t abi_at = kCountAt + kWord + count * kWord;
  std::memcpy(&abi, record.data() + abi_at, kWord);
  if (abi == PERF_SAMPLE_REGS_ABI_NONE) return words;
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(abi_at + kWord), kWord, std::byte{0});
  header.size = static_cast<std::uint16_t>(words.size());
  std::memcpy(words.data(), &header, sizeof header);
  return words;
}

// A ring in memory that is written like the kernel's. With `adds_rdi`, samples are converted from
// version 1, and the ring has space for their additional words.
class ReplayedEvent final : public CpuEvent {
 public:
  ReplayedEvent(int cpu, std::size_t bytes, bool adds_rdi, Cursor& cursor)
      : cpu_(unsigned_of(cpu)),
        adds_rdi_(adds_rdi),
        data_(adds_rdi ? 2 * bytes : bytes),
        ring_(&page_, data_.data(), data_.size()),
        cursor_(cursor) {}

  int start() override { return 0; }
  void stop() override {}
  int set_period(std::uint64_t) override { return EOPNOTSUPP; }
  Ring& ring() override { return ring_; }
  void look_for_records() override {
    if (cursor_.next(kRingRead).as<CpuValue>().cpu != cpu_)
      throw BadTrace("a read of another ring");
    while (cursor_.peek().kind == kRecord) {
      const Bytes record = cursor_.next().bytes;
      adds_rdi_ ? write(add_rdi(record)) : write(record);
    }
    ring_.look_for_records();
  }
  std::optional<Counts> counts() const override {
    const auto& read = cursor_.next(kCounts).as<CountsRead>();
    if (read.cpu != cpu_) throw BadTrace("the counts of another CPU");
    if (read.exists == 0) return std::nullopt;
    return Counts{read.enabled_ns, read.lost};
  }

 private:
  void write(Bytes record) {
    if (page_.data_head + record.size() - page_.data_tail > data_.size())
      throw BadTrace("the recorder leaves too much in the ring");
    for (const std::byte byte : record) data_[page_.data_head++ % data_.size()] = byte;
  }

  std::uint64_t cpu_;
  bool adds_rdi_;
  perf_event_mmap_page page_{};
  std::vector<std::byte> data_;
  Ring ring_;
  Cursor& cursor_;
};

}  // namespace

std::size_t count_registers(const Trace& trace) {
  if (trace.has_layouts(kLayoutsWithoutRdi))
    return kLayoutsWithoutRdi[0].size / sizeof(std::uint64_t);
  trace.require_layouts(kLayouts);
  return kLayouts[0].size / sizeof(std::uint64_t);
}

Sampling sampling_of(const Trace& trace) {
  Sampling sampling;
  sampling.frequency_hz = static_cast<std::uint32_t>(trace.number("frequency_hz"));
  sampling.depth = static_cast<std::uint32_t>(trace.number("depth"));
  sampling.stack_bytes = static_cast<std::uint32_t>(trace.number("stack_bytes"));
  sampling.uses_cycles = trace.number("by_cycles") != 0;
  sampling.defers_user_chains = trace.number("defers") != 0;
  sampling.counts_lost = trace.number("counts_lost") != 0;
  return sampling;
}

void add_sampling_facts(const Sampling& sampling, TraceWriter& trace) {
  trace.add_layouts(kLayouts);
  trace.add_fact("frequency_hz", std::to_string(sampling.frequency_hz));
  trace.add_fact("depth", std::to_string(sampling.depth));
  trace.add_fact("stack_bytes", std::to_string(sampling.stack_bytes));
  trace.add_fact("by_cycles", std::to_string(sampling.uses_cycles));
  trace.add_fact("defers", std::to_string(sampling.defers_user_chains));
  trace.add_fact("counts_lost", std::to_string(sampling.counts_lost));
}

RecordingInput::RecordingInput(std::unique_ptr<on_cpu::KernelInput> input,
                               std::vector<std::uint64_t> pids, TraceWriter& trace)
    : input_(std::move(input)), pids_(std::move(pids)), trace_(trace) {}

std::uint64_t RecordingInput::now_ns(clockid_t clock) const {
  const std::uint64_t ns = input_->now_ns(clock);
  trace_.put_value(kClock, ClockRead{unsigned_of(clock), ns});
  return ns;
}

std::vector<int> RecordingInput::online_cpus() {
  const std::vector<int> cpus = input_->online_cpus();
  trace_.put(kOnline, std::as_bytes(std::span(cpus)));
  return cpus;
}

std::uint64_t RecordingInput::idle_ns(int cpu) {
  const std::uint64_t ns = input_->idle_ns(cpu);
  trace_.put_value(kIdle, CpuValue{unsigned_of(cpu), ns, 0});
  return ns;
}

int RecordingInput::open(const Sampling& sampling, int cpu, std::size_t ring_bytes,
                         std::unique_ptr<CpuEvent>& event) {
  const int error = input_->open(sampling, cpu, ring_bytes, event);
  const std::size_t bytes = error == 0 ? event->ring().size() : 0;
  trace_.put_value(kOpen, CpuValue{unsigned_of(cpu), bytes, unsigned_of(error)});
  if (error == 0)
    event = std::make_unique<RecordingEvent>(std::move(event), cpu,
                                             RecordFilter(pids_, sampling.copies_stacks()), trace_);
  return error;
}

ReplayedInput::ReplayedInput(const Trace& trace, Cursor& cursor)
    : cursor_(cursor),
      lacks_rdi_(count_registers(trace) < kLayouts[0].size / sizeof(std::uint64_t) &&
                 sampling_of(trace).copies_stacks()) {}

std::uint64_t ReplayedInput::now_ns(clockid_t clock) const {
  std::uint64_t& last = clocks_.at(unsigned_of(clock));
  if (!cursor_.is_at_end() && cursor_.peek().kind == kClock &&
      cursor_.peek().as<ClockRead>().clock == unsigned_of(clock))
    last = cursor_.next().as<ClockRead>().ns;
  return last;
}

std::vector<int> ReplayedInput::online_cpus() {
  const Bytes bytes = cursor_.next(kOnline).bytes;
  std::vector<int> cpus(bytes.size() / sizeof(int));
  std::memcpy(cpus.data(), bytes.data(), bytes.size());
  return cpus;
}

std::uint64_t ReplayedInput::idle_ns(int cpu) {
  const auto& read = cursor_.next(kIdle).as<CpuValue>();
  if (read.cpu != unsigned_of(cpu)) throw BadTrace("the idle time of another CPU");
  return read.value;
}

int ReplayedInput::open(const Sampling&, int cpu, std::size_t, std::unique_ptr<CpuEvent>& event) {
  const auto& opened = cursor_.next(kOpen).as<CpuValue>();
  if (opened.cpu != unsigned_of(cpu)) throw BadTrace("an event of another CPU");
  if (opened.error == 0)
    event = std::make_unique<ReplayedEvent>(cpu, opened.value, lacks_rdi_, cursor_);
  return static_cast<int>(opened.error);
}

}  // namespace ctprof::recorded::on_cpu_trace

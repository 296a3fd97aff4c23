// example_fault_stacks: the call stacks in which threads first access pages.
//
// Source: perf_event_open(2), an event page-faults-min for each CPU, with the addresses of the
// user stack that the kernel finds by frame pointers. Needs CAP_PERFMON, or
// kernel.perf_event_paranoid below 1.

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstring>
#include <ctime>
#include <stdexcept>
#include <utility>
#include <vector>

#include "ctprof/plugin.hpp"

namespace {

namespace sdk = ctprof::sdk;
using ctprof::Gap;

constexpr sdk::Metric<sdk::StackCount, sdk::StackSum> kFaultStacks{
    {.name = "example_fault_stacks", .description = "Minor page faults, by call stack."}};
constexpr std::uint64_t kPeriod = 4;  // one of this many faults is recorded, with this weight
constexpr std::size_t kRingPages = 128;

std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

sdk::Fd open_event(int cpu) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
  attr.sample_period = kPeriod;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
  attr.exclude_callchain_kernel = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_BOOTTIME;
  attr.disabled = 1;
  return sdk::Fd(
      static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

// The event of one CPU, and the ring buffer into which the kernel writes its records.
struct Event {
  explicit Event(int cpu) : fd(open_event(cpu)) {
    void* ring = ::mmap(nullptr, (1 + kRingPages) * page_size(), PROT_READ | PROT_WRITE, MAP_SHARED,
                        fd.get(), 0);
    if (ring != MAP_FAILED) page = static_cast<perf_event_mmap_page*>(ring);
  }
  Event(Event&& other) noexcept
      : fd(std::move(other.fd)), page(std::exchange(other.page, nullptr)) {}
  ~Event() {
    if (page) ::munmap(page, (1 + kRingPages) * page_size());
  }

  // Calls take(header, words after the header) for each record. Record sizes are multiples of 8.
  template <class Take>
  void drain(const Take& take) {
    const auto* data = reinterpret_cast<const char*>(page) + page->data_offset;
    const std::uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    std::uint64_t at = page->data_tail;
    const auto word = [&] {
      std::uint64_t value;
      std::memcpy(&value, data + at % page->data_size, sizeof value);
      at += sizeof value;
      return value;
    };
    std::vector<std::uint64_t> words;
    while (at < head) {
      const std::uint64_t first = word();
      perf_event_header header;
      std::memcpy(&header, &first, sizeof header);
      words.clear();
      for (std::size_t size = sizeof header; size < header.size; size += sizeof first)
        words.push_back(word());
      take(header, words);
    }
    __atomic_store_n(&page->data_tail, at, __ATOMIC_RELEASE);
  }

  sdk::Fd fd;
  perf_event_mmap_page* page = nullptr;
};

class Faults : public sdk::RecordSource {
 public:
  static constexpr auto kOffers = sdk::offers(kFaultStacks);

  static void probe(const sdk::Host&, const sdk::Probe& probe) {
    if (!open_event(0))
      probe.refuse(kFaultStacks, errno == EACCES || errno == EPERM ? Gap::Denied : Gap::Unsupported,
                   "perf_event_open(2) cannot open an event for page faults");
  }

  explicit Faults(const sdk::Host&) {}

  void start(const sdk::Window&) {
    for (int cpu = 0; cpu < ::sysconf(_SC_NPROCESSORS_CONF); ++cpu)
      if (Event event(cpu); event.page) events_.push_back(std::move(event));
    if (events_.empty()) throw std::runtime_error("no event for page faults could be opened");
    for (const Event& event : events_) ::ioctl(event.fd.get(), PERF_EVENT_IOC_ENABLE, 0);
  }

  void drain(const sdk::Records& records) {
    for (Event& event : events_)
      event.drain([&](const perf_event_header& header, const std::vector<std::uint64_t>& words) {
        if (header.type == PERF_RECORD_LOST) records.count_lost(words[1]);
        if (header.type == PERF_RECORD_SAMPLE) put(words, records);
      });
  }

  void stop() {
    for (const Event& event : events_) ::ioctl(event.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  }

 private:
  // The words are: process and thread id, time, number of addresses, and the addresses. Marks of
  // the kernel (PERF_CONTEXT_MAX and above) among them separate kernel and user addresses.
  static void put(const std::vector<std::uint64_t>& words, const sdk::Records& records) {
    sdk::Record record(words[0] & UINT32_MAX, words[0] >> 32, kPeriod);
    record.at_ns = words[1];
    record.flags = CTPROF_RECORD_GUESSED;
    std::vector<std::uint64_t> addresses;
    for (std::size_t i = 3; i < 3 + words[2]; ++i)
      if (words[i] < static_cast<std::uint64_t>(PERF_CONTEXT_MAX)) addresses.push_back(words[i]);
    record.set_user(addresses);
    if (record.tid != 0) records.put(record);
  }

  std::vector<Event> events_;
};

}  // namespace

CTPROF_PLUGIN("example-fault", "1.0", "Call stacks in which threads first access pages.", Faults)

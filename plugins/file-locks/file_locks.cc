// file-locks: which processes have file locks that others wait for.
//
// Source: /proc/locks, with CONFIG_FILE_LOCKING. A lock is a line "N: TYPE MODE ACCESS TGID ...";
// the requests that wait for it follow with the same number and "->" before the type. A waiting
// request can wait for another one, which the kernel shows by indentation; all requests of a number
// count as waiting for its lock.

#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ctprof/plugin.hpp"

namespace ctprof::file_locks {
namespace {

constexpr const char* kFile = "locks";
constexpr const char* kPath = "/proc/locks";
constexpr const char* kGates = "CONFIG_FILE_LOCKING";

// Any user can take any number of locks, and the kernel's time to print them grows with the square
// of their number. These bytes are some 16,000 locks, which take about 40 ms.
constexpr std::size_t kMaxBytes = 1 << 20;

template <class N, class R>
using ProcessMetric = sdk::Metric<N, R, sdk::Entity::Process>;
constexpr ProcessMetric<sdk::GaugeCount, sdk::SumGaugeCount> kWaiters{
    {.name = "process.file_lock_waiters",
     .section = "locks",
     .config_gates = kGates,
     .source = kPath,
     .description = "Requests that wait for file locks (flock, fcntl) of the process.",
     .caveat =
         "Without locks of open file descriptions (F_OFD_SETLK), of which the kernel shows no "
         "process."}};
constexpr ProcessMetric<sdk::GaugeCount, sdk::SumGaugeCount> kWaits{
    {.name = "process.file_lock_waits",
     .section = "locks",
     .config_gates = kGates,
     .source = kPath,
     .description = "Requests of the process that wait for file locks (flock, fcntl)."}};

constexpr ctprof_finding kQueue{
    .size = sizeof(ctprof_finding),
    .next = CTPROF_NEXT_STACKS,
    .at_least = 3,
    .weight = 0.05,
    .statement = "had file locks (flock, fcntl) that {} requests waited for at the end"};
constexpr std::array kDerived{
    ctprof_derived{.size = sizeof(ctprof_derived),
                   .entity = CTPROF_PROCESS,
                   .name = "process.file_lock_queue",
                   .expression = "process.file_lock_waiters + 0",
                   .unit = "count",
                   .family = "gauge",
                   .section = "locks",
                   .description = "Requests that wait for file locks of the processes of a group.",
                   .finding = &kQueue}};

// Counts by process.
struct Counts {
  std::uint64_t waiters = 0;
  std::uint64_t waits = 0;
};
using CountsByTgid = std::unordered_map<std::uint64_t, Counts>;

// Returns the text of the file; SourceFailed if it is longer than kMaxBytes.
sdk::Reading<std::string> read_locks(const sdk::Host& host) {
  const sdk::Fd fd(::openat(host.proc(), kFile, O_RDONLY | O_CLOEXEC));
  if (!fd) return gap_of_errno(errno);
  std::string text(kMaxBytes + 1, '\0');
  std::size_t size = 0;
  for (;;) {
    const ssize_t got = ::read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return gap_of_errno(errno);
    size += static_cast<std::size_t>(got);
    if (size > kMaxBytes) return Gap::SourceFailed;
    if (got == 0) break;
  }
  text.resize(size);
  return text;
}

std::string_view take_word(std::string_view& text) {
  text = sdk::bare(text);
  return sdk::take(text, ' ');
}

// A lock or a waiting request.
struct Line {
  std::string_view number;
  bool waits = false;
  // The gap of a lock without a process is Malformed: its id is -1.
  sdk::Reading<std::uint64_t> tgid = Gap::Malformed;
};

Line parse_line(std::string_view text) {
  Line line{.number = take_word(text)};
  std::string_view word = take_word(text);
  line.waits = word == "->";
  if (line.waits) take_word(text);
  take_word(text);  // ADVISORY, MANDATORY, ACTIVE and so on
  take_word(text);  // READ or WRITE
  line.tgid = sdk::number<std::uint64_t>(take_word(text));
  return line;
}

CountsByTgid count_requests(std::string_view text) {
  CountsByTgid counts;
  Line lock;
  while (!text.empty()) {
    const Line line = parse_line(sdk::take(text, '\n'));
    if (!line.waits) {
      lock = line;
      continue;
    }
    if (line.tgid) ++counts[line.tgid.value].waits;
    if (lock.tgid && lock.number == line.number) ++counts[lock.tgid.value].waiters;
  }
  return counts;
}

class Processes final : public sdk::ProcessSource {
 public:
  static constexpr const char* kName = "processes";
  static constexpr auto kOffers = sdk::offers(kWaiters, kWaits);

  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    const sdk::Fd file(::openat(host.proc(), kFile, O_RDONLY | O_CLOEXEC));
    if (file) return;
    if (errno == ENOENT)
      return probe.refuse_all(Gap::Unsupported, "there is no /proc/locks",
                              sdk::by_kernel("CONFIG_FILE_LOCKING=y"));
    probe.refuse_all(gap_of_errno(errno), "/proc/locks cannot be read");
  }

  // Reads the file once, so that all processes of a worker are from the same time.
  explicit Processes(const sdk::Host& host) {
    const auto text = read_locks(host);
    gap_ = text.gap;
    if (text) counts_ = count_requests(text.value);
  }

  void collect(const sdk::Batch& batch) {
    auto waiters = batch.column(kWaiters), waits = batch.column(kWaits);
    const auto tgids = batch.input(sdk::kProcessTgid);
    for (std::uint32_t row = 0; row < batch.rows(); ++row) {
      const auto found = counts_.find(tgids.at(row).value);  // every row has an id
      const Counts counts = found == counts_.end() ? Counts{} : found->second;
      waiters.put(row, read(counts.waiters));
      waits.put(row, read(counts.waits));
    }
  }

 private:
  sdk::Reading<std::uint64_t> read(std::uint64_t count) const {
    return gap_ == Gap::None ? sdk::Reading<std::uint64_t>(count)
                             : sdk::Reading<std::uint64_t>(gap_);
  }

  Gap gap_ = Gap::None;
  CountsByTgid counts_;
};

constexpr sdk::Extra kExtra{.derived = sdk::array_of(kDerived)};

}  // namespace
}  // namespace ctprof::file_locks

CTPROF_PLUGIN_WITH("file-locks", "1.0", "Processes whose file locks others wait for.",
                   ctprof::file_locks::kExtra, ctprof::file_locks::Processes)

// disk: requests, bytes and times of block devices.
//
// Source: /proc/diskstats, which the kernel has if it has block devices (CONFIG_BLOCK). The rows
// are the devices and partitions that completed at least one request since the host started.

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <vector>

#include "ctprof/plugin.hpp"
#include "plugins/disk/diskstats.hpp"

namespace ctprof::disk {
namespace {

constexpr const char* kFile = "diskstats";
constexpr const char* kPath = "/proc/diskstats";

using sdk::EntityMetric;
constexpr EntityMetric<sdk::IdText, sdk::Key> kDevice{
    {.name = "disk.device", .source = kPath, .description = "Name of the device or partition."}};
constexpr EntityMetric<sdk::MonotonicCount, sdk::SumCount> kReads{
    {.name = "disk_reads", .source = kPath, .description = "Completed reads."}};
constexpr EntityMetric<sdk::Bytes, sdk::SumBytes> kReadBytes{
    {.name = "disk_read_bytes", .source = kPath, .description = "Bytes read from the device."}};
constexpr EntityMetric<sdk::MonotonicNs, sdk::SumNs> kReadTime{
    {.name = "disk_read_time_ns",
     .source = kPath,
     .description = "Time of all reads from queueing to completion, added up.",
     .caveat = "Resolution 1 ms; starts again from zero after 49 days of such time."}};
constexpr EntityMetric<sdk::MonotonicCount, sdk::SumCount> kWrites{
    {.name = "disk_writes", .source = kPath, .description = "Completed writes."}};
constexpr EntityMetric<sdk::Bytes, sdk::SumBytes> kWrittenBytes{
    {.name = "disk_written_bytes", .source = kPath, .description = "Bytes written to the device."}};
constexpr EntityMetric<sdk::MonotonicNs, sdk::SumNs> kWriteTime{
    {.name = "disk_write_time_ns",
     .source = kPath,
     .description = "Time of all writes from queueing to completion, added up.",
     .caveat = "Resolution 1 ms; starts again from zero after 49 days of such time."}};
constexpr EntityMetric<sdk::GaugeCount, sdk::SumGaugeCount> kInFlight{
    {.name = "disk_in_flight", .source = kPath, .description = "Requests in progress."}};
constexpr EntityMetric<sdk::MonotonicNs, sdk::SumNs> kBusyTime{
    {.name = "disk_busy_ns",
     .source = kPath,
     .description = "Time in which at least one request was in progress.",
     .caveat =
         "A device that processes many requests concurrently can be busy and far from its limit."}};
constexpr EntityMetric<sdk::MonotonicNs, sdk::SumNs> kQueueTime{
    {.name = "disk_queue_time_ns",
     .source = kPath,
     .description = "Time in progress of all requests, added up.",
     .caveat = "Divided by the elapsed time it is the mean number of requests in progress."}};
constexpr EntityMetric<sdk::MonotonicCount, sdk::SumCount> kDiscards{
    {.name = "disk_discards",
     .since = "4.18",
     .source = kPath,
     .description = "Completed discards."}};
constexpr EntityMetric<sdk::MonotonicCount, sdk::SumCount> kFlushes{
    {.name = "disk_flushes",
     .since = "5.5",
     .source = kPath,
     .description = "Completed flushes of the device's cache.",
     .caveat = "Only of whole devices."}};
constexpr EntityMetric<sdk::MonotonicNs, sdk::SumNs> kFlushTime{
    {.name = "disk_flush_time_ns",
     .since = "5.5",
     .source = kPath,
     .description = "Time of all flushes from queueing to completion, added up.",
     .caveat = "Only of whole devices."}};

constexpr ctprof_derived derived(const char* name, const char* expression, const char* unit,
                                 const char* description) {
  return {.size = sizeof(ctprof_derived),
          .entity = CTPROF_ENTITY_OF_SOURCE,
          .name = name,
          .expression = expression,
          .unit = unit,
          .description = description};
}

constexpr std::array kDerived{
    derived("disk_read_latency_ns", "disk_read_time_ns / disk_reads", "ns",
            "Mean time of a read from queueing to completion."),
    derived("disk_write_latency_ns", "disk_write_time_ns / disk_writes", "ns",
            "Mean time of a write from queueing to completion."),
    derived("disk_flush_latency_ns", "disk_flush_time_ns / disk_flushes", "ns",
            "Mean time of a flush from queueing to completion."),
    derived("disk_requests_in_progress", "disk_queue_time_ns / disk_busy_ns", "ratio",
            "Mean number of requests in progress while there was any.")};

constexpr auto kDisk =
    sdk::entity("disk", "A block device or partition that was used.", sdk::array_of(kDerived));

using Columns = sdk::Table<
    sdk::Fill<kDevice, &Diskstats::device>, sdk::Fill<kReads, &Diskstats::reads>,
    sdk::Fill<kReadBytes, &Diskstats::read_bytes>, sdk::Fill<kReadTime, &Diskstats::read_time>,
    sdk::Fill<kWrites, &Diskstats::writes>, sdk::Fill<kWrittenBytes, &Diskstats::written_bytes>,
    sdk::Fill<kWriteTime, &Diskstats::write_time>, sdk::Fill<kInFlight, &Diskstats::in_flight>,
    sdk::Fill<kBusyTime, &Diskstats::busy_time>, sdk::Fill<kQueueTime, &Diskstats::queue_time>,
    sdk::Fill<kDiscards, &Diskstats::discards>, sdk::Fill<kFlushes, &Diskstats::flushes>,
    sdk::Fill<kFlushTime, &Diskstats::flush_time>>;

class Disks final : public sdk::EntityListSource<kDisk> {
 public:
  static constexpr const char* kName = "diskstats";
  static constexpr auto kOffers = Columns::kOffers;

  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    sdk::TextFile file;
    if (file.read_records(host.proc(), kFile)) return;
    if (file.last_errno() == ENOENT)
      return probe.refuse_all(Gap::Unsupported, "there is no /proc/diskstats",
                              sdk::by_kernel("CONFIG_BLOCK=y"));
    probe.refuse_all(gap_of_errno(file.last_errno()), "/proc/diskstats cannot be read");
  }

  explicit Disks(const sdk::Host& host) : host_(host) {}

  void list(const sdk::Listing& listing) {
    const auto text = file_.read_records(host_.proc(), kFile);
    if (!text) throw std::runtime_error("/proc/diskstats cannot be read");
    auto disks = parse_diskstats(text.value);
    std::erase_if(disks, [](const Diskstats& disk) { return !disk.was_used(); });
    for (std::size_t first = 0; first < disks.size(); first += CTPROF_MAX_ROWS) {
      const auto room = listing.room();
      if (!room) return;
      Columns columns(*room);
      const auto rows =
          static_cast<std::uint32_t>(std::min<std::size_t>(CTPROF_MAX_ROWS, disks.size() - first));
      for (std::uint32_t row = 0; row < rows; ++row) columns.put(row, disks[first + row]);
      listing.commit(rows);
    }
  }

 private:
  sdk::Host host_;
  sdk::TextFile file_;
};

}  // namespace
}  // namespace ctprof::disk

CTPROF_PLUGIN("disk", "1.0", "Requests, bytes and latencies of block devices.", ctprof::disk::Disks)

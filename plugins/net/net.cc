// net: bytes, packets, errors and drops of network interfaces; segments and failed connections of
// TCP.
//
// Source: /proc/net/dev of ctprof's own network namespace: two lines of headings, then "NAME:" and
// 16 numbers for each interface, 8 of received and 8 of sent packets. tcp.hpp has the counters of
// TCP.

#include <cerrno>
#include <stdexcept>
#include <vector>

#include "ctprof/plugin.hpp"
#include "plugins/net/tcp.hpp"

namespace ctprof::net {
namespace {

constexpr const char* kFile = "net/dev";
constexpr const char* kPath = "/proc/net/dev";

using sdk::EntityMetric;
constexpr EntityMetric<sdk::IdText, sdk::Key> kInterface{
    {.name = "net.interface", .source = kPath, .description = "Name of the interface."}};
constexpr EntityMetric<sdk::Bytes, sdk::SumBytes> kReceivedBytes{
    {.name = "net_received_bytes", .source = kPath, .description = "Bytes received."}};
constexpr EntityMetric<sdk::MonotonicCount, sdk::SumCount> kReceivedPackets{
    {.name = "net_received_packets", .source = kPath, .description = "Packets received."}};
constexpr EntityMetric<sdk::MonotonicCount, sdk::SumCount> kReceiveErrors{
    {.name = "net_receive_errors",
     .source = kPath,
     .description = "Received packets with an error."}};
constexpr EntityMetric<sdk::MonotonicCount, sdk::SumCount> kReceiveDrops{
    {.name = "net_receive_drops",
     .source = kPath,
     .description = "Received packets that the driver or the kernel dropped.",
     .caveat = "Without packets that a filter or a full socket dropped."}};
constexpr EntityMetric<sdk::Bytes, sdk::SumBytes> kSentBytes{
    {.name = "net_sent_bytes", .source = kPath, .description = "Bytes sent."}};
constexpr EntityMetric<sdk::MonotonicCount, sdk::SumCount> kSentPackets{
    {.name = "net_sent_packets", .source = kPath, .description = "Packets sent."}};
constexpr EntityMetric<sdk::MonotonicCount, sdk::SumCount> kSendErrors{
    {.name = "net_send_errors", .source = kPath, .description = "Packets that could not be sent."}};
constexpr EntityMetric<sdk::MonotonicCount, sdk::SumCount> kSendDrops{
    {.name = "net_send_drops",
     .source = kPath,
     .description = "Packets that were dropped before the interface sent them."}};

constexpr auto kNet = sdk::entity("net", "A network interface.");

// The columns in the order of the file, each with the position of its number in a line.
using Columns = sdk::Fields<kInterface, kReceivedBytes, kReceivedPackets, kReceiveErrors,
                            kReceiveDrops, kSentBytes, kSentPackets, kSendErrors, kSendDrops>;
constexpr std::size_t kNumbers = 16, kFirstSent = 8;

class Interfaces final : public sdk::EntityListSource<kNet> {
 public:
  static constexpr const char* kName = "dev";
  static constexpr auto kOffers = Columns::kOffers;

  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    sdk::TextFile file;
    if (file.read_records(host.proc(), kFile)) return;
    if (file.last_errno() == ENOENT)
      return probe.refuse_all(Gap::Unsupported, "there is no /proc/net/dev",
                              sdk::by_kernel("CONFIG_NET=y"));
    probe.refuse_all(gap_of_errno(file.last_errno()), "/proc/net/dev cannot be read");
  }

  explicit Interfaces(const sdk::Host& host) : host_(host) {}

  void list(const sdk::Listing& listing) {
    const auto text = file_.read_records(host_.proc(), kFile);
    if (!text) throw std::runtime_error("/proc/net/dev cannot be read");
    sdk::ListedRows<Columns> rows(listing);
    for (std::string_view lines = text.value; !lines.empty();) {
      std::string_view line = sdk::take(lines, '\n');
      const std::string_view name = sdk::bare(sdk::take(line, ':'));
      if (line.empty()) continue;  // a heading
      if (!rows.add()) break;
      put(rows, name, line);
    }
    rows.commit();
  }

 private:
  static void put(sdk::ListedRows<Columns>& rows, std::string_view name, std::string_view line) {
    std::vector<sdk::Reading<std::uint64_t>> at(kNumbers, Gap::Malformed);
    for (auto& number : at) {
      line = sdk::bare(line);
      number = sdk::number<std::uint64_t>(sdk::take(line, ' '));
    }
    rows.columns().put(rows.row(), name, at[0], at[1], at[2], at[3], at[kFirstSent],
                       at[kFirstSent + 1], at[kFirstSent + 2], at[kFirstSent + 3]);
  }

  sdk::Host host_;
  sdk::TextFile file_;
};

}  // namespace
}  // namespace ctprof::net

namespace {
constexpr ctprof::sdk::Extra kExtra{.derived = ctprof::sdk::array_of(ctprof::net::kTcpDerived)};
}

CTPROF_PLUGIN_WITH("net", "1.0",
                   "Bytes, packets, errors and drops of network interfaces; segments and failed "
                   "connections of TCP.",
                   kExtra, ctprof::net::Interfaces, ctprof::net::Tcp)

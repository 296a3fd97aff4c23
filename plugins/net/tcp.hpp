// The counters of TCP, of the whole network namespace.
//
// Source: the two lines "Tcp:" of /proc/net/snmp: names, then numbers in the same order.

#pragma once

#include <array>

#include "ctprof/plugin.hpp"

namespace ctprof::net {

inline constexpr const char* kSnmpPath = "/proc/net/snmp:Tcp";

template <class N, class R>
using HostMetric = sdk::Metric<N, R, sdk::Entity::Host>;
inline constexpr HostMetric<sdk::MonotonicCount, sdk::SumCount> kTcpReceived{
    {.name = "host.tcp.received_segments",
     .section = "network",
     .source = kSnmpPath,
     .description = "TCP segments received, including those with an error."}};
inline constexpr HostMetric<sdk::MonotonicCount, sdk::SumCount> kTcpSent{
    {.name = "host.tcp.sent_segments",
     .section = "network",
     .source = kSnmpPath,
     .description = "TCP segments sent, without those that only repeat data."}};
inline constexpr HostMetric<sdk::MonotonicCount, sdk::SumCount> kTcpRetransmitted{
    {.name = "host.tcp.retransmitted_segments",
     .section = "network",
     .source = kSnmpPath,
     .description = "TCP segments sent again, because they were not acknowledged in time.",
     .caveat = "Of all connections of ctprof's own network namespace."}};

inline constexpr HostMetric<sdk::MonotonicCount, sdk::SumCount> kTcpActiveOpens{
    {.name = "host.tcp.active_opens",
     .section = "network",
     .source = kSnmpPath,
     .description = "TCP connections that programs of this host began to open."}};
inline constexpr HostMetric<sdk::MonotonicCount, sdk::SumCount> kTcpFailedOpens{
    {.name = "host.tcp.failed_opens",
     .section = "network",
     .source = kSnmpPath,
     .description = "TCP connections that ended before they were established: refused, reset or "
                    "without an answer.",
     .caveat = "Includes connections that other hosts began to open."}};

inline constexpr ctprof_finding kRetransmits{
    .size = sizeof(ctprof_finding),
    .next = CTPROF_NEXT_FIGURES,
    .at_least = 5,
    .weight = 0.002,
    .statement =
        "sent {host.tcp.retransmitted_segments} TCP segments again, beside "
        "{host.tcp.sent_segments} new ones, as after packet loss"};
inline constexpr ctprof_finding kFailedOpens{
    .size = sizeof(ctprof_finding),
    .next = CTPROF_NEXT_FIGURES,
    .at_least = 100,
    .weight = 0.0001,
    .statement =
        "failed to open {host.tcp.failed_opens} TCP connections, of {host.tcp.active_opens} "
        "attempts, as when programs retry on a closed port"};
// The two parts are subtracted, so that a few segments on an idle host are no finding, and neither
// are the failures of a proxy that opens many connections.
inline constexpr std::array kTcpDerived{
    ctprof_derived{.size = sizeof(ctprof_derived),
                   .entity = CTPROF_HOST,
                   .name = "host.tcp.excess_retransmits",
                   .expression = "host.tcp.retransmitted_segments - 0.01 * host.tcp.sent_segments",
                   .unit = "count",
                   .family = "cumulative",
                   .section = "network",
                   .description = "TCP segments sent again, beyond 1 % of the segments sent.",
                   .finding = &kRetransmits},
    ctprof_derived{
        .size = sizeof(ctprof_derived),
        .entity = CTPROF_HOST,
        .name = "host.tcp.excess_failed_opens",
        .expression = "host.tcp.failed_opens - 0.1 * host.tcp.active_opens",
        .unit = "count",
        .family = "cumulative",
        .section = "network",
        .description = "TCP connections that failed to open, beyond 10 % of the attempts.",
        .finding = &kFailedOpens}};

class Tcp final : public sdk::HostSource {
 public:
  static constexpr const char* kName = "snmp";
  static constexpr auto kOffers =
      sdk::offers(kTcpReceived, kTcpSent, kTcpRetransmitted, kTcpActiveOpens, kTcpFailedOpens);

  explicit Tcp(const sdk::Host& host) : host_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe);
  void collect(const sdk::Batch& batch);

 private:
  sdk::Host host_;
  sdk::TextFile file_;
};

}  // namespace ctprof::net

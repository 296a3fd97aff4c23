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

inline constexpr ctprof_finding kRetransmits{
    .size = sizeof(ctprof_finding),
    .next = CTPROF_NEXT_FIGURES,
    .at_least = 5,
    .weight = 0.002,
    .statement =
        "sent {host.tcp.retransmitted_segments} TCP segments again, beside "
        "{host.tcp.sent_segments} new ones, as after packet loss"};
// The two parts are subtracted, so that a few segments on an idle host are no finding.
inline constexpr std::array kTcpDerived{
    ctprof_derived{.size = sizeof(ctprof_derived),
                   .entity = CTPROF_HOST,
                   .name = "host.tcp.excess_retransmits",
                   .expression = "host.tcp.retransmitted_segments - 0.01 * host.tcp.sent_segments",
                   .unit = "count",
                   .family = "cumulative",
                   .section = "network",
                   .description = "TCP segments sent again, beyond 1 % of the segments sent.",
                   .finding = &kRetransmits}};

class Tcp final : public sdk::HostSource {
 public:
  static constexpr const char* kName = "snmp";
  static constexpr auto kOffers = sdk::offers(kTcpReceived, kTcpSent, kTcpRetransmitted);

  explicit Tcp(const sdk::Host& host) : host_(host) {}
  static void probe(const sdk::Host& host, const sdk::Probe& probe);
  void collect(const sdk::Batch& batch);

 private:
  sdk::Host host_;
  sdk::TextFile file_;
};

}  // namespace ctprof::net

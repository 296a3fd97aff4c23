// Entities of plugins: kinds of rows in addition to threads, processes, cgroups and the host, such
// as disks.
//
//   constexpr auto kDisk = sdk::entity("disk", "A block device.");
//   constexpr sdk::EntityMetric<sdk::IdText, sdk::Key> kDevice{{.name = "disk.device"}};
//   constexpr sdk::EntityMetric<sdk::Bytes, sdk::SumBytes> kBytesRead{{.name = "disk_read_bytes"}};
//
//   class Disks : public sdk::EntityListSource<kDisk> {
//    public:
//     static constexpr auto kOffers = sdk::offers(kDevice, kBytesRead);
//     explicit Disks(const sdk::Host& host);
//     void list(const sdk::Listing& listing);     // as in listing.hpp
//   };
//
// ctprof discards the rows of a capture if two have the same identity, if one has none, or if there
// are more than CTPROF_MAX_ENTITY_ROWS.
//
// Contents:   entity(), EntityMetric, and the base classes of the sources.
// See also:   source.hpp for sources in general; sdk/README.md has a complete plugin.

#pragma once

#include <array>

#include "ctprof/abi.h"
#include "ctprof/metric.hpp"
#include "ctprof/source.hpp"

namespace ctprof::sdk {

// Makes a kind of row that a plugin adds, such as a disk: a constant at namespace scope. Its
// sources derive from the templates below. `derived`: of ctprof_derived, computed from its metrics.
//
//   constexpr auto kDisk = sdk::entity("disk", "A block device.");
constexpr ctprof_entity_type entity(const char* name, const char* description,
                                    ctprof_array derived = {}) {
  return {.size = sizeof(ctprof_entity_type),
          .name = name,
          .description = description,
          .derived = derived};
}

// A metric of such a row.
template <class N, class R>
using EntityMetric = Metric<N, R, Entity::OfSource>;

// Lists the rows of an entity in each capture, and fills columns while listing. One to three of its
// offers are identity columns: `EntityMetric<IdText, Key>`, or with an unsigned number. Rows of two
// captures match if these are equal. The order of the rows is that of the report.
template <const auto& kOf>
struct EntityListSource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_ENTITY_LIST;
  static constexpr std::array<const char*, 0> kStageReads{};
  static constexpr const ctprof_entity_type* kEntity = &kOf;
};

// Fills further columns of such rows, of the same or of another plugin. It reads the identity
// columns: `static constexpr auto kReads = sdk::reads(kDevice)`.
template <const auto& kOf>
struct EntitySource : AnySource {
  static constexpr ctprof_stage kStage = CTPROF_STAGE_ENTITY;
  static constexpr std::array<const char*, 0> kStageReads{};
  static constexpr const ctprof_entity_type* kEntity = &kOf;
};

}  // namespace ctprof::sdk

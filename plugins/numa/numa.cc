// numa: where the pages of each NUMA node were allocated.
//
// Source: /sys/devices/system/node/nodeN/numastat, one key and one number of pages per line, as in
// the kernel's Documentation/admin-guide/numastat.rst. The kernel needs CONFIG_NUMA.

#include <dirent.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ctprof/plugin.hpp"

namespace ctprof::numa {
namespace {

constexpr const char* kDirectory = "devices/system/node";
constexpr const char* kPath = "/sys/devices/system/node/nodeN/numastat";

using sdk::EntityMetric;
using Pages = EntityMetric<sdk::MonotonicCount, sdk::SumCount>;

constexpr EntityMetric<sdk::IdU32, sdk::Key> kNode{
    {.name = "numa.node", .source = kPath, .description = "Number of the node."}};
constexpr Pages kHit{{.name = "numa_hit",
                      .source = kPath,
                      .description = "Pages that were allocated on this node as intended."}};
constexpr Pages kMiss{{.name = "numa_miss",
                       .source = kPath,
                       .description = "Pages that were allocated here, but intended for another "
                                      "node."}};
constexpr Pages kForeign{{.name = "numa_foreign",
                          .source = kPath,
                          .description = "Pages that were intended for this node, but allocated on "
                                         "another."}};
constexpr Pages kInterleave{{.name = "numa_interleave_hit",
                             .source = kPath,
                             .description = "Interleaved pages that were allocated here as "
                                            "intended."}};
constexpr Pages kLocal{{.name = "numa_local",
                        .source = kPath,
                        .description = "Pages that a thread on this node allocated here."}};
constexpr Pages kOther{{.name = "numa_other",
                        .source = kPath,
                        .description = "Pages that a thread on another node allocated here."}};

constexpr std::array kDerived{ctprof_derived{
    .size = sizeof(ctprof_derived),
    .entity = CTPROF_ENTITY_OF_SOURCE,
    .name = "numa_local_ratio",
    .expression = "numa_local / (numa_local + numa_other)",
    .unit = "ratio",
    .description = "Share of the allocated pages that threads of the node itself allocated."}};

constexpr auto kNuma = sdk::entity("numa", "A NUMA node.", sdk::array_of(kDerived));

using Columns = sdk::Fields<kNode, kHit, kMiss, kForeign, kInterleave, kLocal, kOther>;

// Returns the numbers of the nodes, in ascending order.
std::vector<std::uint32_t> list_nodes(int sys) {
  std::vector<std::uint32_t> nodes;
  sdk::Fd fd(sys < 0 ? -1 : ::openat(sys, kDirectory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(fd ? ::fdopendir(fd.get()) : nullptr,
                                                      &::closedir);
  if (directory) fd.release();
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
    std::string_view name = entry->d_name;
    if (!name.starts_with("node")) continue;
    name.remove_prefix(4);
    if (const auto number = sdk::number<std::uint32_t>(name)) nodes.push_back(number.value);
  }
  std::ranges::sort(nodes);
  return nodes;
}

class Nodes final : public sdk::EntityListSource<kNuma> {
 public:
  static constexpr const char* kName = "numastat";
  static constexpr auto kOffers = Columns::kOffers;

  static void probe(const sdk::Host& host, const sdk::Probe& probe) {
    if (list_nodes(host.sys()).empty())
      probe.refuse_all(Gap::Unsupported, "the kernel has no nodes in /sys/devices/system/node",
                       sdk::by_kernel("CONFIG_NUMA=y"));
  }

  explicit Nodes(const sdk::Host& host) : host_(host) {}

  void list(const sdk::Listing& listing) {
    sdk::ListedRows<Columns> rows(listing);
    for (const std::uint32_t node : list_nodes(host_.sys())) {
      const std::string path = kDirectory + ("/node" + std::to_string(node)) + "/numastat";
      const auto text = file_.read(host_.sys(), path.c_str());
      if (!rows.add()) break;
      const auto count = [&](std::string_view key) -> sdk::Reading<std::uint64_t> {
        if (!text) return text.gap == Gap::ThreadGone ? Gap::Unsupported : text.gap;
        return find_count(text.value, key);
      };
      rows.columns().put(rows.row(), node, count("numa_hit"), count("numa_miss"),
                         count("numa_foreign"), count("interleave_hit"), count("local_node"),
                         count("other_node"));
    }
    rows.commit();
  }

 private:
  static sdk::Reading<std::uint64_t> find_count(std::string_view text, std::string_view key) {
    while (!text.empty()) {
      std::string_view line = sdk::take(text, '\n');
      if (sdk::take(line, ' ') == key) return sdk::number<std::uint64_t>(sdk::bare(line));
    }
    return Gap::Unsupported;
  }

  sdk::Host host_;
  sdk::TextFile file_;
};

}  // namespace
}  // namespace ctprof::numa

CTPROF_PLUGIN("numa", "1.0", "Allocated pages of NUMA nodes.", ctprof::numa::Nodes)

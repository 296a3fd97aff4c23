// The source that lists the threads, and fills most of their metrics in the same pass. It also
// writes rows for threads that the pass did not visit.
//
// See also: pass.hpp for loading and reading, decode.hpp for the meaning of values, probe.hpp for
// the probe.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ctprof/plugin.hpp"
#include "plugins/shared/unseen.hpp"
#include "plugins/task-iter/columns.hpp"
#include "plugins/task-iter/context.hpp"
#include "plugins/task-iter/names.hpp"
#include "plugins/task-iter/pass.hpp"
#include "plugins/task-iter/probe.hpp"

namespace ctprof::task_iter {

class Tasks : public sdk::ListSource {
 public:
  static constexpr const char* kName = "tasks";
  static constexpr std::int32_t kRank = 20;  // before taskstats and /proc
  static constexpr auto kOffers =
      sdk::joined(Columns::kOffers, sdk::offers(sdk::kComm, sdk::kCgroup), Places::kOffers);
  static constexpr std::uint32_t kUnseen = 0;
  static constexpr std::uint32_t kTallies = kUnseen + 1;

  explicit Tasks(const sdk::Host& host);
  static void probe(const sdk::Host& host, const sdk::Probe& probe) { probe_host(host, probe); }
  static void summarise(const sdk::Summary& summary);

  void list(const sdk::Listing& listing);

 private:
  // A block of rows of a listing, and its columns.
  struct Room {
    explicit Room(const sdk::Batch& of);

    sdk::Batch batch;
    Columns columns;
    Places places;
    sdk::Column<CTPROF_STRING> comm;
    sdk::Column<CTPROF_STRING> cgroup;
    std::uint32_t rows = 0;
  };

  // Returns false if ctprof accepts no more rows.
  bool list_seen(const sdk::Listing& listing, Unseen& unseen, std::optional<Room>& room);
  bool list(const sdk::Listing& listing, std::span<const UnseenThread> threads,
            std::optional<Room>& room);
  Wanted wanted_of(std::span<const std::uint64_t> pids) const;
  static bool has_room(const sdk::Listing& listing, std::optional<Room>& room);
  void put(Room& room, const record& task);
  void put(Room& room, const UnseenThread& thread);

  sdk::Host host_;
  Facts facts_;
  Names names_;
  Cgroups cgroups_;
  std::vector<std::uint32_t> seen_;  // visited processes, ascending
};

}  // namespace ctprof::task_iter

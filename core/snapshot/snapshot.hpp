// A snapshot: one table of typed columns per entity, and all that is needed to read them later and
// elsewhere.
//
// capture/ makes it, file/ stores and loads it, compare/ reduces it. It is plain data; see
// column.hpp and pool.hpp for what threads may do with it at the same time.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry/metric_def.hpp"
#include "core/snapshot/column.hpp"
#include "core/snapshot/pool.hpp"
#include "core/snapshot/window.hpp"

namespace ctprof {

// The rows of one entity. Threads are in (tgid, tid) order, cgroups in byte order of their paths.
struct Table {
  std::size_t rows = 0;
  std::deque<Column> columns;

  // Null when there is no such column.
  Column* find(std::string_view metric);
  const Column* find(std::string_view metric) const;
  // The same of a column of unsigned numbers; null for any other.
  const Column* find_u64(std::string_view metric) const;
  // Adds a column whose cells are all `initial`.
  Column& add(SharedMetric def, Gap initial);
  // Drops all other rows. Columns stay where they are. REQUIRES: ascending.
  void keep(std::span<const std::uint32_t> kept);
};

// What one source did during a capture.
struct SourceCost {
  std::string plugin;
  std::string source;
  std::string stage;           // list, thread, process, cgroup, host
  std::uint64_t start_ns = 0;  // after the capture's start
  std::uint64_t wall_ns = 0;   // from its first batch to the end of its last
  std::uint64_t busy_ns = 0;   // summed over workers
  std::uint64_t longest_stop_ns = 0;
  std::map<std::string, std::uint64_t> gaps;  // by reason, over the cells it was to fill
  std::string failed;                         // a sentence, where it gave up
  std::optional<std::uint64_t> unseen_rows;   // it filled in for the lister, for so many threads
                                              // that the lister could not see
};

// What became of the call stacks that one source recorded.
struct StackTally {
  std::string plugin{};
  std::string source{};
  std::uint64_t records = 0;
  std::uint64_t to_root = 0;                 // whose stacks are whole; of the others:
  std::uint64_t cut = 0;                     // they go on beyond what was copied
  std::uint64_t deep = 0;                    // they have more frames than were wanted
  std::uint64_t lost = 0;                    // no rule gave the next frame
  std::optional<std::uint64_t> elsewhere{};  // they go on on another stack; none: in older files
  std::uint64_t without_user = 0;            // the user part could not be had
  std::uint64_t guessed = 0;                 // with frames that may be wrong
  std::uint64_t no_room = 0;                 // whose stacks are not kept, only their weights
  std::uint64_t in_no_row = 0;               // of threads that the window does not have
  std::uint64_t frames = 0;                  // different ones, of all sources
  std::uint64_t unnamed = 0;                 // of these
  // How long the window is that its sums cover, inside that of each thread; none: as long as that.
  std::optional<std::uint64_t> covered_ns{};
};

// Metrics of ctprof's own that another plugin filled, because of its higher rank, although ours
// could have.
struct Takeover {
  std::string plugin;
  std::vector<std::string> metrics;
};

// Which run of a recording in turns a window is (`record --interleave`): its pair, counted from 1,
// has one run of each side.
struct PairMark {
  std::uint64_t seed = 0;  // of the order in which sides took their turns
  std::uint64_t number = 0;
  bool operator==(const PairMark&) const = default;
};

// What a run is of a span of consecutive windows: a block of them, which is tested as a run, or a
// part of a span that cannot be tested. Not in files.
enum class SpanPart : std::uint8_t { None, Block, Untested };

// The format of files that this version writes.
inline constexpr std::uint64_t kFileFormat = 1;

// How, when and where the capture was made: the file's `ctprof` object.
struct Meta {
  std::uint64_t format = kFileFormat;
  std::string tool;  // version that made it
  std::string boot_id;
  std::optional<std::string> hostname;  // left out on request
  Moment start;
  Moment end;
  std::uint64_t user_hz = 100;
  bool live = false;
  std::uint64_t euid = 0;
  std::string capabilities;  // effective set, hexadecimal as in /proc/self/status
  std::string cgroup_mount;
  std::string cgroup_root;  // what the mount shows of the hierarchy: / or a namespace's part
  std::optional<PairMark> pair{};
  SpanPart span_part = SpanPart::None;
  std::uint64_t cpu_time_ns = 0;
  std::vector<std::uint64_t> own_threads;
  std::uint64_t rows_listed = 0;
  std::uint64_t rows_absent = 0;                // listed, but gone before anything could be read
  std::optional<std::uint64_t> thread_skew_ns;  // from before the first thread was read until after
                                                // the last, by all sources of threads
  std::optional<std::uint64_t> skew_ns;  // the same of all rows; absent where no thread was read
  std::vector<SourceCost> sources;
  std::vector<Takeover> takeovers;
  std::vector<StackTally> stacks;
  std::vector<std::string> left_out;  // costly metrics that nobody asked for, by name
  std::vector<std::string> notes;     // sentences that the sources had for the user
};

// JSON kept as text: summaries, the host's context, and keys that this version does not know.
using RawJson = std::string;

// The key of the host's context: what the host is made of, and its tunables.
inline constexpr const char* kHostContext = "host";

// Keys of rows that no metric describes. The path joins keys by dots, and escapes a dot or
// backslash within a key by a backslash; each entry is a row, ascending, and its JSON.
using KeptKeys = std::map<std::string, std::vector<std::pair<std::uint32_t, RawJson>>>;

// Members of an object that this version does not know, by key.
using KeptMembers = std::map<std::string, RawJson, std::less<>>;

// A metric whose entity, storage or newtype this version does not know. Its cells are kept keys, or
// in kept lines where the entity is unknown.
struct UnknownMetric {
  std::string name;
  std::optional<Entity> entity;  // none: unknown
  std::string path;              // of its cells, as KeptKeys have it
  RawJson definition;
};

// What a file's registry says and this version does not know.
struct UnknownDefinitions {
  KeptMembers members;  // of the registry itself
  std::vector<UnknownMetric> metrics;
  std::vector<RawJson> derived;  // metrics of entities that this version does not know
  std::map<std::string, KeptMembers, std::less<>> of_metrics;  // of known ones, by name
  std::map<std::string, KeptMembers, std::less<>> of_derived;
};

struct Snapshot {
  Snapshot() : pools(std::make_unique<Pools>()) {}

  std::array<Table, kEntities> tables;
  Meta meta;
  std::vector<DerivedDef> derived;
  std::vector<std::uint64_t> read_at;  // per thread row, ns after the start; empty when not known
  std::vector<std::uint64_t> born_at;  // per thread row, ns of CLOCK_BOOTTIME, 0 when not known;
                                       // empty when none is, and in files
  std::map<std::string, RawJson> objects;  // other top-level keys: host, summaries, unknown ones
  std::set<std::string, std::less<>>
      early_objects;              // those that a file in columns has in its header, beside the host
  KeptMembers unknown_meta;       // of the `ctprof` object
  KeptMembers unknown_late_meta;  // of the one at the end of a file in columns
  UnknownDefinitions unknown_definitions;
  std::array<KeptKeys, kEntities>
      unknown_keys;                    // below a row, by the row's entity; a process has none
  std::vector<RawJson> unknown_lines;  // of a file in columns, of kinds that this version does not
                                       // know
  std::vector<UnknownRows> unknown_tables;  // of a file in columns
  KeptMembers unknown_gaps;                 // of a file in rows: `gaps` of unknown entities
  KeptMembers unknown_raw;                  // and `raw`
  std::optional<Window> window;             // none: lifetimes, as they were at one moment
  KeptMembers unknown_window;               // of the line that describes the window
  bool foreign = false;                     // a file without our own keys
  std::vector<std::string> told;  // sentences about the file it was read from; not written
  std::size_t text_bytes =
      0;  // of JSON that it was read from, by the file's size at most; 0: of no file
  // Of an outline, which has columns and no rows: how many rows the tables have in the file.
  std::optional<std::array<std::size_t, kEntities>> rows_in_file;
  std::unique_ptr<Pools> pools;

  Table& table(Entity entity) { return tables[static_cast<std::size_t>(entity)]; }
  const Table& table(Entity entity) const { return tables[static_cast<std::size_t>(entity)]; }
  // Those of the table; of an outline, those that it has in the file.
  std::size_t rows_of(Entity entity) const {
    return rows_in_file ? (*rows_in_file)[static_cast<std::size_t>(entity)] : table(entity).rows;
  }
  Table& threads() { return table(Entity::Thread); }
  const Table& threads() const { return table(Entity::Thread); }
};

// Copies a cell of one snapshot into another, which has pools of its own. REQUIRES: the columns
// have the same storage.
void copy_cell(Column& to, std::uint32_t row, Pools& pools, const Column& from,
               std::uint32_t from_row, const Pools& from_pools);

}  // namespace ctprof

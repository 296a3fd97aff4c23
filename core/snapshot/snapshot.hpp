// A snapshot: one table of typed columns per entity, and all data that is needed to read them later
// and on other hosts.
//
// capture/ creates it, file/ stores and loads it, compare/ aggregates it. It is plain data; see
// column.hpp and pool.hpp for concurrent access.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry/metric_def.hpp"
#include "core/snapshot/column.hpp"
#include "core/snapshot/pool.hpp"
#include "core/snapshot/raw_json.hpp"
#include "core/snapshot/window.hpp"

namespace ctprof {

// The rows of one entity. Threads are in (tgid, tid) order, cgroups in byte order of their paths.
struct Table {
  std::size_t rows = 0;
  std::deque<Column> columns;

  // Returns null if the column does not exist.
  Column* find(std::string_view metric);
  const Column* find(std::string_view metric) const;
  // Like find(), for columns of unsigned numbers; returns null for any other.
  const Column* find_u64(std::string_view metric) const;
  // Adds a column whose cells are all `initial`.
  Column& add(SharedMetric def, Gap initial);
  // Removes all rows except the listed ones. Does not move the columns. REQUIRES: the list is
  // ascending.
  void keep_rows(std::span<const std::uint32_t> kept_rows);
};

// The time that one source took during a capture, and its results.
struct SourceCost {
  std::string plugin;
  std::string source;
  std::string stage;           // list, thread, process, cgroup, host
  std::uint64_t start_ns = 0;  // time after the capture's start
  std::uint64_t wall_ns = 0;   // from the start of its first batch to the end of its last
  std::uint64_t busy_ns = 0;   // sum over all workers
  std::uint64_t longest_stop_ns = 0;
  std::map<std::string, std::uint64_t> gaps;  // cells of the source without a value, by reason
  std::string failed;                         // the error message if the source failed
  std::optional<std::uint64_t> unseen_rows;   // number of threads that the lister could not see and
                                              // this source added; none: it did not do so
};

// The results of unwinding for the call stacks that one source recorded.
struct StackTally {
  std::string plugin{};
  std::string source{};
  std::uint64_t records = 0;
  // Records with complete stacks; the other records are divided into:
  std::uint64_t complete_stacks = 0;
  std::uint64_t stacks_beyond_copy = 0;   // the stack continues beyond the copied memory
  std::uint64_t too_deep_stacks = 0;      // the stack has more frames than the limit
  std::uint64_t stacks_without_rule = 0;  // no unwind rule was found for a frame
  // The stack continues on another stack; none: unknown, older file.
  std::optional<std::uint64_t> stacks_on_other_stack{};
  std::uint64_t without_user = 0;    // records without the user part of the stack
  std::uint64_t guessed_stacks = 0;  // records with guessed frames
  // Records of which only the weight is stored, because the table is full.
  std::uint64_t stacks_beyond_limit = 0;
  std::uint64_t records_without_row = 0;  // records of threads that have no row in the window
  std::uint64_t frames = 0;               // distinct frames of all sources
  std::uint64_t unnamed_frames = 0;       // distinct frames without a name
  // Length of the time that the sums cover, inside the window of each thread; none: the whole
  // window.
  std::optional<std::uint64_t> covered_ns{};
};

// Metrics of ctprof's own plugins that another plugin filled because of its higher rank, although a
// plugin of ctprof could fill them.
struct Takeover {
  std::string plugin;
  std::vector<std::string> metrics;
};

// Identifies the pair to which a window of an interleaved recording belongs (`record
// --interleave`). Each pair has one run of each side; pairs are numbered from 1.
struct InterleavedPair {
  std::uint64_t seed = 0;  // seed of the order in which the sides were recorded
  std::uint64_t number = 0;
  bool operator==(const InterleavedPair&) const = default;
};

// The part of a span of consecutive windows that a run represents: a block, which is tested as a
// run, or a part that cannot be tested. Not stored in files.
enum class SpanPart : std::uint8_t { None, Block, Untested };

// The version of the file format in rows that this program writes.
inline constexpr std::uint64_t kFileFormat = 1;

// Describes how, when and where the capture was made: the file's `ctprof` object.
struct Meta {
  std::uint64_t format = kFileFormat;
  std::string tool;  // version of ctprof that made the capture
  std::string boot_id;
  std::optional<std::string> hostname;  // none: omitted on request
  Timestamp start;
  Timestamp end;
  std::uint64_t user_hz = 100;
  bool live = false;
  std::uint64_t euid = 0;
  std::string capabilities;  // effective set, hexadecimal as in /proc/self/status
  std::string cgroup_mount;
  std::string cgroup_root;  // root of the mount within the hierarchy: / or the root of a namespace
  std::optional<InterleavedPair> pair{};
  SpanPart span_part = SpanPart::None;
  std::uint64_t cpu_time_ns = 0;
  std::vector<std::uint64_t> own_threads;
  std::uint64_t rows_listed = 0;
  std::uint64_t rows_absent = 0;                // listed, but exited before anything could be read
  std::optional<std::uint64_t> thread_skew_ns;  // time from before the first thread was read until
                                                // after the last, by all sources of threads
  // Like thread_skew_ns, for all rows; none if no thread was read.
  std::optional<std::uint64_t> skew_ns;
  std::vector<SourceCost> sources;
  std::vector<Takeover> takeovers;
  std::vector<StackTally> stacks;
  // Expensive metrics that were not requested, by name.
  std::vector<std::string> uncaptured_metrics;
  std::vector<std::string> notes;  // messages of the sources for the user
};

// The key of the host's context: its hardware, kernel and tunables.
inline constexpr const char* kHostContext = "host";

// The parts of a file that this version does not know (file_extras.hpp).
struct FileExtras;

// The tables and metadata of one capture or window.
struct Snapshot {
  Snapshot();
  ~Snapshot();
  Snapshot(Snapshot&&);
  Snapshot& operator=(Snapshot&&);

  std::array<Table, kEntities> tables;
  Meta meta;
  std::vector<DerivedDef> derived;
  std::vector<std::uint64_t> read_at;  // per thread row, ns after the start; empty if unknown
  // Start time per thread row, ns of CLOCK_BOOTTIME, 0 if unknown; empty if none is known, and
  // after loading a file.
  std::vector<std::uint64_t> started_at;
  std::map<std::string, RawJson> objects;  // other top-level keys: host, summaries, unknown ones
  // Without a window this is a snapshot: counters are totals since the start of each thread.
  std::optional<Window> window;
  bool is_foreign = false;  // a file without our own keys
  // Messages about the file it was loaded from; not written.
  std::vector<std::string> load_messages;
  // Bytes of JSON that it was loaded from, limited by the file's size; 0: not from a file.
  std::size_t text_bytes = 0;
  // In an outline, which has columns without rows: the numbers of rows in the file.
  std::optional<std::array<std::size_t, kEntities>> rows_in_file;
  std::unique_ptr<Pools> pools;
  std::unique_ptr<FileExtras> extras;  // null only after the snapshot was moved from

  // Returns the derived metrics, except those of entities of plugins.
  std::vector<DerivedDef> builtin_derived() const;

  Table& table(Entity entity) { return tables[static_cast<std::size_t>(entity)]; }
  const Table& table(Entity entity) const { return tables[static_cast<std::size_t>(entity)]; }
  // Returns the number of rows; for an outline, the number in the file.
  std::size_t rows_of(Entity entity) const {
    return rows_in_file ? (*rows_in_file)[static_cast<std::size_t>(entity)] : table(entity).rows;
  }
  Table& threads() { return table(Entity::Thread); }
  const Table& threads() const { return table(Entity::Thread); }
};

// Returns the columns that identify the rows of an entity of a plugin, in their order.
std::vector<const Column*> identity_columns(const Table& table);
// Returns the values of these columns in a row, as texts; a missing value is empty.
std::vector<std::string> identity_of_row(std::span<const Column* const> columns, std::size_t row,
                                         const Pools& pools);

// Copies a cell to another snapshot, which has its own pools. REQUIRES: the columns have the same
// storage.
void copy_cell(Column& to, std::uint32_t row, Pools& pools, const Column& from,
               std::uint32_t from_row, const Pools& from_pools);

}  // namespace ctprof

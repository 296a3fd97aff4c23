// Converts the raw records of a window to columns: unwinds and names call stacks, stores each
// distinct stack once, and puts stacks and numbers into the rows of their threads.
//
//   put_stacks(recorded, proc, window, {});
//
// A recorder works from before the first row is read until after the last one is. A record counts
// if its time is between the two readings of its thread's row, like the other metrics of the
// thread. A record belongs to the thread with its tgid, tid and start time; without a start time,
// to the thread that had the ids when the record was taken. This includes exited threads. For an
// exited thread that shares a row with others, the process determines the row. The weight of
// records without a row is reported as a sum.
//
// Records and files are untrusted: all work is bounded (FrameLimits, FrameNamingLimits), and files
// are opened by target_files.hpp. What a limit omits is counted, and notes name the files. Opening
// files and naming frames takes at most eight seconds, in addition to reading the records.
//
// See also: active_recorders.hpp runs recorders; core/stacks unwinds and names.
//
// Threads: used by one thread.

#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "core/capture/active_recorders.hpp"
#include "core/capture/own_processes.hpp"
#include "core/capture/target_files.hpp"
#include "core/capture/thread_rows.hpp"
#include "core/rules/histograms.hpp"
#include "core/snapshot/snapshot.hpp"
#include "core/stacks/modules.hpp"
#include "core/stacks/unwinder.hpp"

namespace ctprof {

// The ends of a window that no neighbouring window shares. At a shared end, the records that are
// taken while rows are read belong to the window in which they are delivered.
struct ExclusiveEnds {
  bool has_own_begin = true;
  bool has_own_end = true;
};

class RecordedStacks {
 public:
  // `proc`: the open directory /proc. If `window` is a snapshot, the records are one pass over its
  // threads, and only stacks are kept. `timeout`: time limit for opening a file of a process.
  // `has_extra_rights`: whether ctprof has rights that its user lacks. Then only stacks of the
  // user's own processes are kept, without addresses of the kernel or of generated code. REQUIRES:
  // `window` outlives this object.
  RecordedStacks(Snapshot& window, int proc, ExclusiveEnds exclusive_ends = {},
                 std::chrono::milliseconds timeout = TargetFiles::kTimeout,
                 const FrameLimits& limits = {}, bool has_extra_rights = has_elevated_rights());

  // Sets the files that were pinned during the window; the index of a file is its version minus 1.
  // REQUIRES: they outlive this object, and no mappings have been added.
  void set_pinned_files(std::span<const PinnedFile> files);
  // Sets the processes that the user might inspect while they lived. Stacks of other exited
  // processes are dropped if ctprof has extra rights. REQUIRES: no record has been added.
  void set_own_processes(std::span<const std::uint64_t> tgids) {
    own_processes_.set_exited_own(tgids);
  }
  // Sets the maximum number of frames per stack, kernel and user part together, counted from the
  // leaf. A stack with more frames gets WalkEnd::TooDeep. Default: Unwinder::kMaxFrames.
  void limit_depth(std::size_t max_frames) { max_frames_ = max_frames; }
  // Sets the code that a process had mapped at `read_ns`, which includes all earlier changes.
  // Further calls for one process take effect when a CTPROF_CHANGE_REMAPPED requires new mappings.
  // `owner`: the user of the process; its files are opened with the rights of that user once it has
  // exited. REQUIRES: calls for one process are in order of time.
  void add_mappings(std::uint64_t tgid, std::uint64_t read_ns, std::span<const Mapping> mappings,
                    const std::optional<TargetOwner>& owner = {});
  // Starts the records of a source; `metrics` are its offers in order. Adds a column for each: of
  // stacks, where a thread without records has an empty set; or of numbers (see ctprof_record).
  // `tables`: the modules of its unwind tables, table n in [n - 1]. `selected`: the offers that
  // were requested; empty: all.
  void begin_source(const std::string& plugin, const std::string& source,
                    const std::vector<SharedMetric>& metrics,
                    const std::vector<TableFile>& tables = {},
                    const std::vector<bool>& selected = {});
  void add(const ctprof_change& change);
  // `stack`: its number in the RecordArena of the source. A known stack is unwound again only if
  // the mappings of its process have changed.
  void add(const ctprof_record& record, std::uint32_t stack = RecordArena::kUnique);
  // Stops unwinding. Later records still count, with a stack that is already known or without one.
  void interrupt();
  // Fills the columns and names the frames. Records in Meta::stacks and in notes what was not
  // possible.
  void finish(const NameOptions& names = {});

 private:
  static constexpr std::uint32_t kNoModule = UINT32_MAX;
  static constexpr std::uint64_t kNoVersion = UINT64_MAX;
  struct Process {
    AddressSpace space;
    std::uint64_t read_ns = 0;
    bool has_ended = false;
    std::optional<TargetOwner> owner = {};
    // Each change of the mappings draws a new number, so equal numbers mean equal mappings.
    std::uint64_t version = draw_version();
  };
  using Processes = std::unordered_map<std::uint64_t, Process, SeededHash>;
  // The rule that combines the numbers of a thread into one.
  enum class Combination { Sum, Max, Min };
  // Weights of one column, by row.
  struct ColumnSums {
    std::string metric;
    Storage storage;
    Combination combination;
    std::unordered_map<std::uint32_t, std::vector<ctprof_stack>> stacks_by_row{};
    std::vector<ctprof_stack> stacks_without_row{};
    std::vector<std::optional<std::uint64_t>> numbers_by_row{};  // most threads have one
    std::unordered_map<std::uint32_t, rules::Buckets> histograms_by_row{};
    std::uint64_t number_without_row = 0;      // of a histogram, the number of its values
    std::vector<std::uint32_t> unseen_rows{};  // rows that the source may not observe
    std::size_t source = 0;                    // index in Meta::stacks
  };
  // The stack of a record, and how unwinding ended.
  struct UnwoundStack {
    std::uint64_t start = 0;  // start time of its thread
    std::uint32_t node = 0;
    WalkEnd ending = WalkEnd::Root;
    bool is_guessed = false;
  };
  // A stack of the arena, as unwound with the mappings that its process had at some time.
  struct KnownStack {
    std::uint64_t version = kNoVersion;
    UnwoundStack unwound = {};
  };

  static std::uint64_t draw_version();
  static Combination combination_of(const MetricDef& def);
  bool belongs_to_window(const ctprof_record& record, const ThreadRows::Row* thread) const;
  Process& process_of(std::uint64_t tgid);
  void add_mapping(Process& process, const Mapping& mapping, std::uint64_t at_ns);
  std::uint64_t version_of(const FileId& file, std::uint64_t tgid, std::uint64_t at_ns) const;
  std::uint64_t version_of(const FileId& file, const FileStamp& stamp);
  MappedContent content_of_version(std::uint64_t version) const;
  void remove_exited_processes();
  void copy_mappings(Process& process, const ctprof_change& change);
  void replace_mappings(const ctprof_change& change);
  UnwoundStack unwind(const ctprof_record& record);
  UnwoundStack unwind(const ctprof_record& record, std::uint32_t stack);
  UnwoundStack stack_of(const ctprof_record& record, std::uint32_t stack);
  WalkEnd find_frames(const ctprof_record& record);
  WalkEnd find_user_frames(const ctprof_record& record);
  WalkEnd find_table_frames(const ctprof_record& record, const AddressSpace& space);
  std::uint32_t module_of_table(std::uint64_t table);
  std::uint32_t module_of_table(std::uint64_t table, const AddressSpace& space);
  const CodeRange* find_overlay_range(const TableFile& file, const AddressSpace& space) const;
  void add_kernel_frames(const ctprof_record& record);
  static void note_unseen(ColumnSums& sums, const ThreadRows::Row* thread);
  void add_number(ColumnSums& sums, const ThreadRows::Row* thread, std::uint64_t weight);
  static void add_to_histogram(ColumnSums& sums, const ThreadRows::Row* thread,
                               const ctprof_record& record);
  void count_record(const ctprof_record& record, const UnwoundStack& unwound);
  std::uint32_t add_stack_node(WalkEnd ending, std::uint64_t tgid);
  std::uint32_t add_rest_node();
  std::uint32_t add_module(std::uint32_t module, std::uint64_t tgid);
  const ElfFile* find_unchanged_file(std::uint32_t module);
  sdk::Fd open(std::uint64_t process, const CodeRange& range, const std::string& path);
  // Adds a note about records without a row only for the first metric of each source, because its
  // other metrics concern the same threads.
  void fill_column(const ColumnSums& sums);
  void fill_numbers(const ColumnSums& sums, Column& column);
  void fill_histograms(const ColumnSums& sums, Column& column);
  void fill_stacks(const ColumnSums& sums, Column& column);
  void mark_foreign_processes(Column& column);
  void hide_addresses();
  NamingResult name_frames(const NameOptions& names);
  void note_unwind_limits();
  std::string read_perf_map_of(std::uint64_t process);
  void note_changed_files();
  void note_32_bit_files();
  MappedContent content_of(const FileId& file, std::uint64_t mapped_ns) const;
  bool is_program_in_memory(const Process& process, const Mapping& mapping);
  bool is_copied_code(const Process& process, const Mapping& mapping) const;
  StackTable& stack_table() { return window_.pools->stacks.table; }

  Snapshot& window_;
  ExclusiveEnds exclusive_ends_;
  bool has_extra_rights_;
  OwnProcesses own_processes_;
  ThreadRows rows_;
  TargetFiles files_;
  Modules modules_;
  Unwinder unwinder_;
  std::size_t max_frames_ = Unwinder::kMaxFrames;
  // The file of a module, and the data that detects a change of it.
  struct Origin {
    FileId file;
    std::uint64_t mapped_ns = 0;  // first time; 0: unknown
    FileStamp opened_stamp = {};
    bool is_changed = false;
  };
  std::vector<Origin> module_origins_;
  std::span<const PinnedFile> pinned_;
  std::map<FileId, bool> is_program_by_file_;  // whether such files (memfd_create(2)) are programs
  std::map<FileId, std::vector<std::uint32_t>> versions_;  // indexes in `pinned_`
  // The stamps of files that have unwind tables but are not pinned. The numbers of their versions
  // begin after the last index of `pinned_`.
  std::vector<FileStamp> table_stamps_;
  std::map<FileId, std::vector<std::uint32_t>> table_versions_;
  // Numbers in the stack table, by module; kNoNumber: not added yet.
  std::vector<std::uint32_t> module_numbers_;
  std::vector<std::uint32_t> modules_by_number_;  // modules, by their number in the stack table
  Processes initial_processes_, processes_;       // when the window opened; now
  // Mappings that were read later, of processes in `initial_processes_`, oldest first.
  std::unordered_map<std::uint64_t, std::deque<ProcessCode>, SeededHash> later_readings_;
  std::size_t range_count_ = 0;        // approximate total of all processes
  std::size_t next_removal_size_ = 0;  // number of processes that triggers the next removal
  bool is_interrupted_ = false;
  // Users of all processes of all sources, because recorders observe different processes.
  std::unordered_map<std::uint64_t, TargetOwner, SeededHash> owners_;
  // The mapping of a jitdump file, which JIT compilers create to announce it.
  struct JitDump {
    CodeRange range;
    FileId file;
    std::string path;
  };
  std::unordered_map<std::uint64_t, JitDump, SeededHash> jit_dumps_;  // by process
  std::vector<Module> truncated_maps_;    // processes whose perf maps exceed the size limit
  std::uint64_t unmapped_processes_ = 0;  // processes whose mappings exceeded the limit
  std::chrono::steady_clock::time_point start_time_ = std::chrono::steady_clock::now();
  std::deque<ColumnSums> sums_;
  std::set<std::size_t> noted_sources_;
  std::vector<ColumnSums*> by_offer_;  // of the source; null: the window already has this column
  // The last stacks of the source, by offer and thread.
  std::unordered_map<std::uint64_t, UnwoundStack, SeededHash> last_stacks_;
  std::vector<KnownStack> known_stacks_;      // of the source, by number in its arena
  StackTally* tally_ = nullptr;               // of the source
  std::vector<TableFile> tables_;             // of the source
  std::vector<std::uint32_t> table_modules_;  // by table; kNoModule: not looked up yet
  // Modules of tables whose files are on overlay mounts, by process and table.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> overlay_modules_;
  std::vector<Frame> frames_, user_frames_;
  std::vector<std::uint64_t> addresses_;
};

// Converts all records of a window to columns. `proc` and REQUIRES: as in the constructor.
void put_stacks(const RecordedWindow& recorded, int proc, Snapshot& window,
                ExclusiveEnds exclusive_ends, const NameOptions& names = {});

}  // namespace ctprof

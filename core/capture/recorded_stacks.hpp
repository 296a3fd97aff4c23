// From the raw records of a window to columns of stacks: unwound, each stack kept once, named, and
// put into the rows of their threads; and to columns of numbers beside them.
//
//   put_stacks(recorded, proc, window, {});
//
// A recorder works from before the first row was read until after the last was. A record counts
// from the moment its thread's row was read first to the one it was read last, as the thread's
// other figures do. A thread is the one of its tgid, tid and start time; where the start is not
// told, the one that was there when the record was taken. A stack's weight is its thread's, also of
// one that ended; one that has a row with others is told by its process. What belongs to no row is
// told as a sum.
//
// Records and files are untrusted: all work is bounded (FrameLimits, NameLimits), and files are
// opened by target_files.hpp. What a limit omits is counted, and notes name the files. Opening
// files and naming frames takes at most eight seconds, in addition to reading the records.
//
// What is here:   who the thread is, what its process had mapped when, where names come from.
// What is not:    reading rings (a recorder), unwinding and naming (core/stacks).
//
// Threads: one.

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
#include <vector>

#include "core/base/seeded_hash.hpp"
#include "core/capture/own_processes.hpp"
#include "core/capture/records.hpp"
#include "core/capture/target_files.hpp"
#include "core/capture/thread_rows.hpp"
#include "core/snapshot/snapshot.hpp"
#include "core/stacks/modules.hpp"
#include "core/stacks/unwinder.hpp"

namespace ctprof {

// Which ends a window has to itself. At one that it shares with a neighbour, what threads did while
// their rows were read goes to the window that was open when it was handed over.
struct OwnEnds {
  bool begin = true;
  bool end = true;
};

class RecordedStacks {
 public:
  // `proc`: the open directory /proc. Of a snapshot that is no window, what was recorded is one
  // look at its threads, and only stacks are kept of it. `patience`: how long a file of a process
  // may take to be opened. `is_lent`: whether ctprof has rights that its user does not have; then
  // only stacks of the user's own processes are kept, and no addresses of the kernel or of
  // generated code. REQUIRES: the window outlives this.
  RecordedStacks(Snapshot& window, int proc, OwnEnds ends = {},
                 std::chrono::milliseconds patience = TargetFiles::kPatience,
                 const FrameLimits& limits = {}, bool is_lent = has_lent_rights());

  // The files that were pinned during the window, each at the place of its version. REQUIRES: they
  // live as long as this, and nothing was mapped yet.
  void pinned(std::span<const PinnedFile> files);
  // Keeps at most so many frames of a stack, nearest to the leaf, of its kernel and its user part
  // together. A stack that has more ends as Ending::Deep. By default Unwinder::kMostFrames.
  void limit_depth(std::size_t most) { depth_ = most; }
  // What code a process had mapped at that time; changes before it are in it. Told again of the
  // same process, it is what is found where a change says that it is to be read anew. REQUIRES: of
  // one process in order of time.
  // `owner`: the user of the process then, as whom its files are opened once it has exited.
  void mapped(std::uint64_t tgid, std::uint64_t read_ns, std::span<const Mapping> mappings,
              const std::optional<TargetOwner>& owner = {});
  // From here on it is what this source recorded; `metrics` are its offers in order. Each metric
  // becomes a column: of stacks, in which a thread without a record has none; or of numbers, as
  // ctprof_record says. `tables`: modules of its unwind tables, table n in [n - 1].
  void begin(const std::string& plugin, const std::string& source,
             const std::vector<SharedMetric>& metrics, const std::vector<TableFile>& tables = {});
  void take(const ctprof_change& change);
  void take(const ctprof_record& record);
  // Does not unwind anything more: records count, with stacks that are known or end at once.
  void interrupt();
  // Fills the columns, names the frames, and says in Meta::stacks and in notes what was not
  // possible.
  void finish(const NameOptions& names = {});

 private:
  static constexpr std::uint32_t kNoModule = UINT32_MAX;
  struct Process {
    AddressSpace space;
    std::uint64_t read_ns = 0;
    bool has_ended = false;
    std::optional<TargetOwner> owner = {};
  };
  using Processes = std::unordered_map<std::uint64_t, Process, SeededHash>;
  // How a thread's numbers become one.
  enum class Combined { Sum, Largest, Least };
  // Weights of one column, by row.
  struct Sums {
    std::string metric, unit;
    Storage storage;
    Combined combined;
    std::unordered_map<std::uint32_t, std::vector<ctprof_stack>> by_row{};
    std::vector<ctprof_stack> in_no_row{};
    std::unordered_map<std::uint32_t, std::uint64_t> numbers{};
    std::uint64_t number_in_no_row = 0;
    std::vector<std::uint32_t> unseen{};  // rows of which the source may not know
    std::size_t source = 0;               // in Meta::stacks
  };
  // The stack of a record, and how its walk ended.
  struct Walked {
    std::uint64_t start = 0;  // of its thread
    std::uint32_t node = 0;
    Ending ending = Ending::Root;
    bool is_guessed = false;
  };

  static Combined combined(const MetricDef& def);
  bool is_of_window(const ctprof_record& record, const ThreadRows::Row* thread) const;
  Process& process_of(std::uint64_t tgid);
  void map(Process& process, const Mapping& mapping, std::uint64_t at_ns);
  std::uint64_t version_of(const FileId& file, std::uint64_t tgid, std::uint64_t at_ns) const;
  std::uint64_t version_of(const FileId& file, const FileStamp& stamp);
  MappedContent content_of_version(std::uint64_t version) const;
  void make_room();
  void fork(Process& process, const ctprof_change& change);
  void map_anew(const ctprof_change& change);
  Walked walk(const ctprof_record& record);
  Walked stack_of(const ctprof_record& record);
  Ending find_frames(const ctprof_record& record);
  Ending find_user_frames(const ctprof_record& record);
  Ending find_table_frames(const ctprof_record& record, const AddressSpace& space);
  std::uint32_t module_of_table(std::uint64_t table);
  void add_kernel_frames(const ctprof_record& record);
  static void note_unseen(Sums& sums, const ThreadRows::Row* thread);
  void add_number(Sums& sums, const ThreadRows::Row* thread, std::uint64_t weight);
  void count(const ctprof_record& record, const Walked& walked);
  std::uint32_t node_of(Ending ending, std::uint64_t tgid);
  std::uint32_t rest_node();
  std::uint32_t module_of(std::uint32_t module, std::uint64_t tgid);
  const ElfFile* unchanged_file(std::uint32_t module);
  sdk::Fd open(std::uint64_t process, const CodeRange& range, const std::string& path);
  // Of each source the first metric tells what belongs to no row: the others say it of the same
  // threads.
  void fill(const Sums& sums);
  void fill_numbers(const Sums& sums, Column& column);
  void fill_stacks(const Sums& sums, Column& column);
  void mark_foreign(Column& column);
  void hide_addresses();
  StackNames name_all(const NameOptions& names);
  void note_refused();
  std::string perf_map(std::uint64_t process);
  void note_changed();
  void note_32_bit();
  MappedContent content_of(const FileId& file, std::uint64_t mapped_ns) const;
  bool is_program_in_memory(const Process& process, const Mapping& mapping);
  bool is_copied_code(const Process& process, const Mapping& mapping) const;
  StackTable& table() { return window_.pools->stacks.table; }

  Snapshot& window_;
  OwnEnds ends_;
  bool is_lent_;
  OwnProcesses own_;
  ThreadRows rows_;
  TargetFiles files_;
  Modules modules_;
  Unwinder unwinder_;
  std::size_t depth_ = Unwinder::kMostFrames;
  // The file of a module, and what shows that it was not changed.
  struct Origin {
    FileId file;
    std::uint64_t mapped_ns = 0;  // the first time; 0: unknown
    FileStamp opened = {};
    bool is_changed = false;
  };
  std::vector<Origin> files_of_modules_;
  std::span<const PinnedFile> pinned_;
  std::map<FileId, bool> in_memory_;  // whether such files (memfd_create(2)) are programs
  std::map<FileId, std::vector<std::uint32_t>> versions_;  // of a file without one, in `pinned_`
  // Contents of files that unwind tables were made of, and that are not pinned. Their versions
  // follow those of `pinned_`.
  std::vector<FileStamp> contents_of_tables_;
  std::map<FileId, std::vector<std::uint32_t>> versions_of_tables_;
  std::vector<std::uint32_t> numbers_;  // in the table, by module; kNoNumber: not there yet
  std::vector<std::uint32_t> origins_;  // modules, by their number in the table
  Processes met_, processes_;           // when the window opened; now
  // What was read later of processes that are met already, oldest first.
  std::unordered_map<std::uint64_t, std::deque<ProcessCode>, SeededHash> read_later_;
  std::size_t ranges_ = 0;      // in all of them, about
  std::size_t room_after_ = 0;  // processes from which on room is made again
  bool is_interrupted_ = false;
  // Users of processes that were met or forked, of all sources: recorders differ in what they see.
  std::unordered_map<std::uint64_t, TargetOwner, SeededHash> owners_;
  // A mapping of a jitdump, by which just-in-time compilers announce it.
  struct JitDump {
    CodeRange range;
    FileId file;
    std::string path;
  };
  std::unordered_map<std::uint64_t, JitDump, SeededHash> jit_dumps_;  // by process
  std::vector<Module> cut_maps_;  // processes whose perf maps are too large
  std::uint64_t unmapped_ = 0;    // processes whose code there was no memory for
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::deque<Sums> sums_;
  std::set<std::size_t> told_in_no_row_;
  std::vector<Sums*> by_offer_;  // of the source; null: the window has such a column already
  std::unordered_map<std::uint64_t, Walked, SeededHash>
      last_;                                  // of the source, by offer and thread
  StackTally* tally_ = nullptr;               // of the source
  std::vector<TableFile> tables_;             // of the source
  std::vector<std::uint32_t> table_modules_;  // by table; kNoModule: not looked for yet
  std::vector<Frame> frames_, user_frames_;
  std::vector<std::uint64_t> addresses_;
};

// All of it, from what was recorded in a window to its columns. `proc` and REQUIRES: as above.
void put_stacks(const RecordedWindow& recorded, int proc, Snapshot& window, OwnEnds ends,
                const NameOptions& names = {});

}  // namespace ctprof

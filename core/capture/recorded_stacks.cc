#include "core/capture/recorded_stacks.hpp"

#include <sys/sysmacros.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/registry/identity.hpp"
#include "core/stacks/naming.hpp"

namespace ctprof {
namespace {

constexpr std::uint32_t kNoNumber = std::numeric_limits<std::uint32_t>::max();
// Of code of all processes, some 40 bytes each: 10,000 processes have a million.
constexpr std::size_t kMostRanges = 4 << 20;
constexpr std::size_t kMostProcesses = 1 << 18;

// The column's numbers, or null where the table lacks it.
const Column* numbers(const Table& table, std::string_view name) {
  const Column* column = table.find(name);
  return column && column->def().storage == Storage::U64 ? column : nullptr;
}

std::uint64_t number(const Column* column, std::uint32_t row) {
  return column && column->has_value(row) ? column->u64()[row] : 0;
}

std::uint64_t far_from(const Seen& seen, std::uint64_t at) {
  if (at < seen.first) return seen.first - at;
  return at > seen.last ? at - seen.last : 0;
}

// ", 12 lost", nothing if there are none.
std::string with_count(std::uint64_t count, std::string_view what) {
  return count == 0 ? "" : ", " + std::to_string(count) + " " + std::string(what);
}

}  // namespace

// --- whose it is ---

ThreadRows::ThreadRows(const Snapshot& window) {
  const Table& threads = window.threads();
  const Window& what = *window.window;
  const Column *tgids = numbers(threads, kTgid), *tids = numbers(threads, kTid),
               *starts = numbers(threads, kStartTime), *counts = numbers(threads, kThreads);
  const std::uint64_t opened = what.opened.boottime_ns;
  for (std::uint32_t row = 0; row < threads.rows; ++row) {
    Seen seen{0, std::numeric_limits<std::uint64_t>::max()};
    if (row < what.seen.size())
      seen = {opened + what.seen[row].first, opened + what.seen[row].last};
    rows_.push_back({number(tgids, row), number(tids, row), number(starts, row), seen, row});
    if (number(counts, row) < 2) continue;
    Row shared = rows_.back();
    shared.seen.first = opened;  // it is known of one of them alone
    shared_.emplace(shared.tgid, shared);
  }
  std::ranges::stable_sort(rows_, {}, [](const Row& row) { return std::pair(row.tgid, row.tid); });
}

const ThreadRows::Row* ThreadRows::find(const ctprof_record& record) const {
  const auto key = [](const Row& row) { return std::pair(row.tgid, row.tid); };
  const std::pair sought(record.tgid, record.tid);
  const auto first = std::ranges::lower_bound(rows_, sought, {}, key);
  const std::span same(first, std::ranges::upper_bound(rows_, sought, {}, key));
  const std::uint64_t start = record.start_time_clock_ticks;
  const auto named = std::ranges::find(same, start, &Row::start);
  if (start != 0 && named != same.end()) return &*named;
  const auto nearest = std::ranges::min_element(
      same, {}, [&](const Row& row) { return far_from(row.seen, record.at_ns); });
  if (start == 0 && nearest != same.end()) return &*nearest;
  const auto shared = shared_.find(record.tgid);
  return shared == shared_.end() ? nullptr : &shared->second;
}

// --- what its process had mapped ---

RecordedStacks::RecordedStacks(Snapshot& window, int proc, OwnEnds ends)
    : window_(window),
      ends_(ends),
      rows_(window),
      files_(proc),
      modules_([this](std::uint64_t process, const CodeRange& range, const std::string& path) {
        return open(process, range, path);
      }),
      unwinder_(modules_) {}

sdk::Fd RecordedStacks::open(std::uint64_t process, const CodeRange& range,
                             const std::string& path) {
  const FileId file = range.module < ids_.size() ? ids_[range.module] : FileId{};
  return file.inode == 0 ? sdk::Fd() : files_.open(process, range, path, file);
}

void RecordedStacks::map(Process& process, const Mapping& mapping) {
  if (ranges_ >= kMostRanges || mapping.start >= mapping.end) return;
  const std::size_t before = process.space.size();
  const CodeRange range = modules_.range_of(process.space.process(), mapping);
  process.space.map(range);
  ranges_ += process.space.size() - std::min(before, process.space.size());
  if (ids_.size() <= range.module) ids_.resize(range.module + 1);
  if (range.module != Modules::kUnknown) ids_[range.module] = mapping.file;
}

void RecordedStacks::mapped(std::uint64_t tgid, std::uint64_t read_ns,
                            std::span<const Mapping> mappings) {
  Process& process =
      met_.insert_or_assign(tgid, Process{AddressSpace(tgid), read_ns}).first->second;
  for (const Mapping& mapping : mappings) map(process, mapping);
}

void RecordedStacks::begin(const std::string& plugin, const std::string& source,
                           const std::vector<SharedMetric>& metrics) {
  processes_ = met_;
  tally_ = &window_.meta.stacks.emplace_back(StackTally{.plugin = plugin, .source = source});
  by_offer_.assign(metrics.size(), nullptr);
  for (std::size_t offer = 0; offer < metrics.size(); ++offer) {
    const MetricDef& def = metrics[offer];
    if (def.storage != Storage::Stacks || window_.threads().find(def.name)) continue;
    Column& column = window_.threads().add(metrics[offer], Gap::Untouched);
    column.provenance = {plugin, source, Gap::None, ""};
    by_offer_[offer] = &sums_.emplace_back(Sums{.metric = def.name, .unit = def.unit});
  }
}

// Processes that ended are kept while there is room: records may come late.
void RecordedStacks::make_room() {
  if (processes_.size() < kMostProcesses && ranges_ < kMostRanges) return;
  std::erase_if(processes_, [](const auto& process) { return process.second.has_ended; });
  if (processes_.size() == kMostProcesses) processes_.clear();
  ranges_ = 0;
  for (const Processes* all : {&met_, &processes_})
    for (const auto& [tgid, process] : *all) ranges_ += process.space.size();
}

RecordedStacks::Process& RecordedStacks::process_of(std::uint64_t tgid) {
  const auto known = processes_.find(tgid);
  if (known != processes_.end()) return known->second;
  make_room();
  return processes_.emplace(tgid, Process{AddressSpace(tgid)}).first->second;
}

void RecordedStacks::take(const ctprof_change& change) {
  Process& process = process_of(change.tgid);
  if (change.at_ns < process.read_ns) return;  // it is in what was read
  const std::uint64_t end = change.start + change.length;
  const FileId file{makedev(change.device_major, change.device_minor), change.inode};
  switch (change.kind) {
    case CTPROF_CHANGE_MAPPED:
      map(process, {change.start, end, change.offset, file,
                    std::string(change.path.data, change.path.size)});
      return;
    case CTPROF_CHANGE_EXECED: process = Process{AddressSpace(change.tgid)}; return;
    case CTPROF_CHANGE_FORKED:
      if (const auto parent = processes_.find(change.parent); parent != processes_.end())
        process = Process{AddressSpace(change.tgid, parent->second.space)};
      ranges_ += process.space.size();
      return;
    default: process.has_ended = true;
  }
}

// --- its frames ---

// Leaf first: what runs, and then return addresses, which are behind their calls.
void RecordedStacks::add_kernel_frames(const ctprof_record& record) {
  for (std::uint32_t i = 0; i < record.kernel_count; ++i)
    frames_.push_back({record.kernel[i] - (i > 0 ? 1 : 0), Modules::kKernel, false});
}

Ending RecordedStacks::find_user_frames(const ctprof_record& record) {
  const AddressSpace& space = process_of(record.tgid).space;
  if (record.user_kind == CTPROF_USER_COPY) {
    const std::string_view copy(reinterpret_cast<const char*>(record.stack), record.stack_size);
    return unwinder_.walk(space, {record.ip, record.sp, record.bp, record.lr}, {record.sp, copy},
                          user_frames_);
  }
  addresses_.assign(record.user, record.user + record.user_count);
  unwinder_.place(space, addresses_, user_frames_);
  for (std::size_t i = 0; i < user_frames_.size(); ++i) {
    user_frames_[i].is_guessed = i > 0 && (record.flags & CTPROF_RECORD_GUESSED) != 0;
    // Opened while the process lives: names are read of it later.
    if (const CodeRange* range = space.find(addresses_[i] - (i > 0 ? 1 : 0));
        range && !modules_.file(range->module))
      modules_.rule_at(record.tgid, *range, user_frames_[i].offset);
  }
  return Ending::Root;
}

Ending RecordedStacks::find_frames(const ctprof_record& record) {
  frames_.clear();
  user_frames_.clear();
  add_kernel_frames(record);
  Ending ending = record.flags & CTPROF_RECORD_NO_USER ? Ending::Lost : Ending::Root;
  if (record.user_kind != CTPROF_USER_NONE) ending = find_user_frames(record);
  frames_.insert(frames_.end(), user_frames_.begin(), user_frames_.end());
  const bool is_cut = (record.flags & CTPROF_RECORD_CUT) != 0;
  return is_cut && ending == Ending::Root ? Ending::Deep : ending;
}

std::uint32_t RecordedStacks::module_of(std::uint32_t module) {
  if (numbers_.size() < modules_.size()) numbers_.resize(modules_.size(), kNoNumber);
  std::uint32_t& number = numbers_[module];
  if (number != kNoNumber) return number;
  number = table().add_module(modules_[module]);
  if (origins_.size() <= number) origins_.resize(number + 1, Modules::kUnknown);
  return origins_[number] = module, number;
}

std::uint32_t RecordedStacks::node_of(Ending ending) {
  for (Frame& frame : frames_) frame.module = module_of(frame.module);
  const std::uint32_t node = table().add_stack(frames_, ending);
  if (node != StackTable::kNoStack) return node;
  ++tally_->no_room;
  return StackTable::kTop;
}

void RecordedStacks::count(const ctprof_record& record, Ending ending) {
  ++tally_->records;
  tally_->to_root += ending == Ending::Root;
  tally_->cut += ending == Ending::Cut;
  tally_->deep += ending == Ending::Deep;
  tally_->without_user += (record.flags & CTPROF_RECORD_NO_USER) != 0;
  tally_->lost += ending == Ending::Lost && (record.flags & CTPROF_RECORD_NO_USER) == 0;
  tally_->guessed += std::ranges::any_of(frames_, &Frame::is_guessed);
}

// A thread without a row was born while the end was read, or is one that nobody saw end. What one
// that ended does after it was looked at has no other place.
bool RecordedStacks::is_of_window(const ctprof_record& record,
                                  const ThreadRows::Row* thread) const {
  if (record.at_ns == 0) return true;  // it does not say
  const Seen window{window_.window->opened.boottime_ns, window_.meta.start.boottime_ns};
  const Seen& seen = thread ? thread->seen : window;
  const bool has_ended = thread && thread->row >= window_.window->living;
  return (!ends_.begin || record.at_ns >= seen.first) &&
         (!ends_.end || has_ended || record.at_ns <= seen.last);
}

void RecordedStacks::take(const ctprof_record& record) {
  Sums* sums = record.offer < by_offer_.size() ? by_offer_[record.offer] : nullptr;
  const ThreadRows::Row* thread = rows_.find(record);
  if (!sums || !is_of_window(record, thread)) return;
  const Ending ending = find_frames(record);
  count(record, ending);
  const ctprof_stack stack{node_of(ending), record.weight};
  tally_->in_no_row += thread ? 0 : 1;
  (thread ? sums->by_row[thread->row] : sums->in_no_row).push_back(stack);
}

// --- all of it ---

void RecordedStacks::fill(const Sums& sums) {
  StackPool& pool = window_.pools->stacks;
  Column& column = *window_.threads().find(sums.metric);
  std::ranges::fill(column.ids(), pool.append({}));
  std::ranges::fill(column.gaps(), ctprof_gap{CTPROF_VALUE});
  for (const auto& [row, stacks] : sums.by_row) column.ids()[row] = pool.append(stacks);
  if (const std::uint64_t weight = total_of(sums.in_no_row); weight > 0)
    window_.meta.notes.push_back(std::to_string(weight) + " " + sums.unit + " of " + sums.metric +
                                 " are of threads that are in no row");
}

std::size_t RecordedStacks::name_all() {
  const auto file = [this](std::uint32_t module) {
    return module < origins_.size() ? modules_.file(origins_[module]) : nullptr;
  };
  return name_frames(table(), {.file = file,
                               .perf_map = [this](std::uint64_t of) { return files_.perf_map(of); },
                               .kernel = [this] { return files_.kernel_symbols(); }});
}

void RecordedStacks::finish() {
  for (const Sums& sums : sums_) fill(sums);
  const std::size_t unnamed = name_all();
  for (StackTally& tally : window_.meta.stacks) {
    tally.frames = table().frames().size() - 1;
    tally.unnamed = unnamed;
    window_.meta.notes.push_back(in_words(tally));
  }
  if (files_.held_up() > 0)
    window_.meta.notes.push_back(
        "files of programs whose file system did not answer: " + std::to_string(files_.held_up()) +
        "; their stacks are not "
        "unwound by them, and have no names");
}

void put_stacks(const RecordedWindow& recorded, int proc, Snapshot& window, OwnEnds ends) {
  RecordedStacks stacks(window, proc, ends);
  for (const ProcessCode& code : recorded.code)
    stacks.mapped(code.tgid, code.read_ns, code.mappings);
  for (const Recorded& recorder : recorded.recorders) {
    stacks.begin(recorder.plugin, recorder.source, recorder.metrics);
    recorder.records.for_each([&](const ctprof_record& record) { stacks.take(record); },
                              [&](const ctprof_change& change) { stacks.take(change); });
  }
  stacks.finish();
}

std::string in_words(const StackTally& tally) {
  return tally.source + ": " + std::to_string(tally.to_root) + " of " +
         std::to_string(tally.records) + " stacks reach their root" +
         with_count(tally.cut, "go on beyond what was copied") +
         with_count(tally.deep, "are deeper than was wanted") +
         with_count(tally.lost, "could not be unwound") +
         with_count(tally.without_user, "are without their user part") +
         with_count(tally.guessed, "with guesses") +
         with_count(tally.no_room, "for which there was no room") +
         with_count(tally.in_no_row, "of threads in no row") + "; " +
         std::to_string(tally.unnamed) + " of " + std::to_string(tally.frames) +
         " frames have no name";
}

}  // namespace ctprof

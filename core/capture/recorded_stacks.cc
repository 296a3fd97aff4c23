#include "core/capture/recorded_stacks.hpp"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/recorded_words.hpp"
#include "core/capture/represented.hpp"
#include "core/registry/identity.hpp"
#include "core/stacks/hidden_offsets.hpp"
#include "core/window/happened.hpp"

namespace ctprof {
namespace {

constexpr std::uint32_t kNoNumber = std::numeric_limits<std::uint32_t>::max();
// Larger than all process ids.
constexpr std::uint64_t kNextProcess = 1ULL << 32;

// Returns the metric, marked as one that describes the window.
SharedMetric of_window(MetricDef metric) {
  metric.of_window = metric.storage != Storage::Stacks;
  return metric;
}

}  // namespace

RecordedStacks::RecordedStacks(Snapshot& window, int proc, OwnEnds ends,
                               std::chrono::milliseconds patience, const FrameLimits& limits,
                               bool is_lent)
    : window_(window),
      ends_(ends),
      is_lent_(is_lent),
      own_(proc, is_lent),
      rows_(window),
      files_(proc, patience, is_lent),
      modules_([this](std::uint64_t process, const CodeRange& range,
                      const std::string& path) { return open(process, range, path); },
               limits),
      unwinder_(modules_) {}

sdk::Fd RecordedStacks::open(std::uint64_t process, const CodeRange& range,
                             const std::string& path) {
  if (range.module >= files_of_modules_.size()) return sdk::Fd();
  Origin& origin = files_of_modules_[range.module];
  if (origin.file.inode == 0 || origin.is_changed) return sdk::Fd();
  const auto known = processes_.find(process);
  const auto owner = known == processes_.end() ? std::nullopt : known->second.owner;
  sdk::Fd fd = files_.open(process, range, path, origin.file, owner,
                           content_of(origin.file, origin.mapped_ns));
  origin.is_changed = files_.is_changed();
  if (fd) origin.opened = stamp_of(fd.get()).value_or(FileStamp{});
  return fd;
}

// Checks again for changes, because names are read long after call frame information.
const ElfFile* RecordedStacks::unchanged_file(std::uint32_t module) {
  const ElfFile* file = modules_.file(module);
  if (!file || file->fd() < 0 || module >= files_of_modules_.size()) return file;
  Origin& origin = files_of_modules_[module];
  const auto now = stamp_of(file->fd());
  if (!now || !now->has_same_content(origin.opened)) origin.is_changed = true;
  return origin.is_changed ? nullptr : file;
}

RecordedStacks::Combined RecordedStacks::combined(const MetricDef& def) {
  if (def.family == "cumulative") return Combined::Sum;
  return def.reduction == "min" ? Combined::Least : Combined::Largest;
}

void RecordedStacks::begin(const std::string& plugin, const std::string& source,
                           const std::vector<SharedMetric>& metrics,
                           const std::vector<TableFile>& tables) {
  processes_ = met_;
  tables_ = tables;
  table_modules_.clear();
  last_.clear();
  tally_ = &window_.meta.stacks.emplace_back(StackTally{.plugin = plugin, .source = source});
  by_offer_.assign(metrics.size(), nullptr);
  for (std::size_t offer = 0; offer < metrics.size(); ++offer) {
    const MetricDef& def = metrics[offer];
    if (window_.threads().find(def.name)) continue;
    if (!window_.window && def.storage != Storage::Stacks)
      continue;  // a number needs a span of
                 // time
    Column& column = window_.threads().add(of_window(def), Gap::Untouched);
    column.provenance = {plugin, source, Gap::None, ""};
    by_offer_[offer] = &sums_.emplace_back(Sums{.metric = def.name,
                                                .unit = def.unit,
                                                .storage = def.storage,
                                                .combined = combined(def),
                                                .source = window_.meta.stacks.size() - 1});
  }
}

// --- the stack of a record ---

// Two files with one path and without build ids are two modules: the second one gets a process id
// as distinction.
std::uint32_t RecordedStacks::module_of(std::uint32_t module, std::uint64_t tgid) {
  if (numbers_.size() < modules_.size()) numbers_.resize(modules_.size(), kNoNumber);
  std::uint32_t& number = numbers_[module];
  if (number != kNoNumber) return number;
  Module added = modules_[module];
  const bool is_by_path = added.kind == Module::Kind::File && added.build_id.empty();
  const auto is_another = [&] {
    return number < origins_.size() && origins_[number] != Modules::kUnknown;
  };
  number = table().add_module(added);
  for (added.process = tgid; is_by_path && is_another(); added.process += kNextProcess)
    number = table().add_module(added);
  if (origins_.size() <= number) origins_.resize(number + 1, Modules::kUnknown);
  return origins_[number] = module, number;
}

std::uint32_t RecordedStacks::node_of(Ending ending, std::uint64_t tgid) {
  for (Frame& frame : frames_) frame.module = module_of(frame.module, tgid);
  const std::uint32_t node = table().add_stack(frames_, ending);
  if (node != StackTable::kNoStack) return node;
  ++tally_->no_room;
  return StackTable::kTop;
}

std::uint32_t RecordedStacks::rest_node() {
  const std::uint32_t frame =
      table().add_frame({Frame::kNowhere, module_of(Modules::kUnknown, 0), false});
  const std::uint32_t node = table().add_node({StackTable::kTop, frame});
  if (node == StackTable::kNoStack) return StackTable::kTop;
  table().set_name(frame, "[rest]");
  return node;
}

RecordedStacks::Walked RecordedStacks::walk(const ctprof_record& record) {
  const Ending ending = find_frames(record);
  const bool is_guessed = std::ranges::any_of(frames_, &Frame::is_guessed);
  return {record.start_time_clock_ticks, node_of(ending, record.tgid), ending, is_guessed};
}

// Unwinds even if the record does not count, because a later record may refer to its stack
// (CTPROF_RECORD_AGAIN).
RecordedStacks::Walked RecordedStacks::stack_of(const ctprof_record& record) {
  const std::uint64_t thread =
      std::uint64_t{record.offer} << 44 | record.tgid << 22 | record.tid;  // ids have 22 bits
  if ((record.flags & (CTPROF_RECORD_AGAIN | CTPROF_RECORD_REST)) == 0)
    return last_.insert_or_assign(thread, walk(record)).first->second;
  const auto last = last_.find(thread);
  const bool is_known = (record.flags & CTPROF_RECORD_REST) == 0 && last != last_.end() &&
                        last->second.start == record.start_time_clock_ticks;
  return is_known ? last->second : Walked{.node = rest_node()};
}

void RecordedStacks::note_unseen(Sums& sums, const ThreadRows::Row* thread) {
  if (thread) sums.unseen.push_back(thread->row);
}

void RecordedStacks::add_number(Sums& sums, const ThreadRows::Row* thread, std::uint64_t weight) {
  if (!thread) {
    if (sums.combined == Combined::Sum) sums.number_in_no_row += weight;
    return;
  }
  const auto [known, is_first] = sums.numbers.emplace(thread->row, weight);
  if (is_first) return;
  switch (sums.combined) {
    case Combined::Sum: known->second += weight; return;
    case Combined::Largest: known->second = std::max(known->second, weight); return;
    case Combined::Least: known->second = std::min(known->second, weight); return;
  }
}

void RecordedStacks::count(const ctprof_record& record, const Walked& walked) {
  const Ending ending = walked.ending;
  ++tally_->records;
  tally_->to_root += ending == Ending::Root;
  tally_->cut += ending == Ending::Cut;
  tally_->deep += ending == Ending::Deep;
  tally_->without_user += (record.flags & CTPROF_RECORD_NO_USER) != 0;
  tally_->lost += ending == Ending::Lost && (record.flags & CTPROF_RECORD_NO_USER) == 0;
  if (ending == Ending::Elsewhere) tally_->elsewhere = tally_->elsewhere.value_or(0) + 1;
  tally_->guessed += walked.is_guessed;
}

// A thread without a row started while the end of the window was read, or its exit was not
// reported. Records of an exited thread count even after its row was read, because no later window
// has a row for it.
bool RecordedStacks::is_of_window(const ctprof_record& record,
                                  const ThreadRows::Row* thread) const {
  if (record.at_ns == 0 || !window_.window) return true;  // no time, or a snapshot
  if (record.flags & CTPROF_RECORD_OF_WINDOW) return true;
  const Seen window{window_.window->opened.boottime_ns, window_.meta.start.boottime_ns};
  const Seen& seen = thread ? thread->seen : window;
  const bool has_ended = thread && thread->row >= window_.window->living;
  return (!ends_.begin || record.at_ns >= seen.first) &&
         (!ends_.end || has_ended || record.at_ns <= seen.last);
}

void RecordedStacks::take(const ctprof_record& record) {
  Sums* sums = record.offer < by_offer_.size() ? by_offer_[record.offer] : nullptr;
  const ThreadRows::Row* thread = rows_.find(record);
  if (!sums) return;
  if (record.flags & CTPROF_RECORD_UNSEEN) return note_unseen(*sums, thread);
  const bool counts = is_of_window(record, thread);
  if (sums->storage != Storage::Stacks)
    return counts ? add_number(*sums, thread, record.weight) : void();
  if (own_.whose(record.tgid) == OwnProcesses::Whose::Foreign) return note_unseen(*sums, thread);
  const Walked walked = stack_of(record);
  if (!counts) return;
  if ((record.flags & CTPROF_RECORD_REST) == 0) count(record, walked);
  tally_->in_no_row += thread ? 0 : 1;
  (thread ? sums->by_row[thread->row] : sums->in_no_row).push_back({walked.node, record.weight});
}

// --- all stacks ---

void RecordedStacks::fill_stacks(const Sums& sums, Column& column) {
  StackPool& pool = window_.pools->stacks;
  std::ranges::fill(column.ids(), pool.append({}));
  std::ranges::fill(column.gaps(), ctprof_gap{CTPROF_VALUE});
  for (const std::uint32_t row : sums.unseen)
    if (!sums.by_row.contains(row)) column.gaps()[row] = CTPROF_DENIED;
  if (is_lent_) mark_foreign(column);
  for (const auto& [row, stacks] : sums.by_row) {
    column.ids()[row] = pool.append(stacks);
    column.gaps()[row] = CTPROF_VALUE;
  }
}

// Recorders omit processes that the user may not inspect, so zero records mean Denied there. The
// access to an exited process is unknown.
void RecordedStacks::mark_foreign(Column& column) {
  const Column* processes = window_.threads().find(kTgid);
  for (std::size_t row = 0; processes && row < column.rows(); ++row)
    if (!processes->has_value(row) || own_.whose(processes->u64()[row]) != OwnProcesses::Whose::Own)
      column.gaps()[row] = CTPROF_DENIED;
}

void RecordedStacks::hide_addresses() {
  table() = without_addresses(table());
  window_.meta.notes.push_back(
      "call stacks are only those of processes that user " + std::to_string(::getuid()) +
      " may look into without the capabilities of ctprof's file; run ctprof as root for others");
}

// Numbers that add up start at zero when the window opens.
void RecordedStacks::fill_numbers(const Sums& sums, Column& column) {
  const bool adds_up = sums.combined == Combined::Sum;
  std::ranges::fill(column.gaps(), adds_up ? ctprof_gap{CTPROF_VALUE}
                                           : static_cast<ctprof_gap>(Gap::NotApplicable));
  for (const std::uint32_t row : sums.unseen) column.gaps()[row] = CTPROF_DENIED;
  for (const auto& [row, number] : sums.numbers) {
    column.u64()[row] = number;
    column.gaps()[row] = CTPROF_VALUE;
  }
  if (adds_up) begin_at_zero(window_, column);
}

void RecordedStacks::fill(const Sums& sums) {
  Column& column = *window_.threads().find(sums.metric);
  const bool are_stacks = sums.storage == Storage::Stacks;
  are_stacks ? fill_stacks(sums, column) : fill_numbers(sums, column);
  const std::uint64_t weight = are_stacks ? total_of(sums.in_no_row) : sums.number_in_no_row;
  if (weight == 0 || !told_in_no_row_.insert(sums.source).second) return;
  window_.meta.notes.push_back(std::to_string(weight) + " " + sums.unit + " of " + sums.metric +
                               " are of threads that are in no row");
}

void RecordedStacks::interrupt() {
  is_interrupted_ = true;
  modules_.stop();
}

void RecordedStacks::finish(const NameOptions& names) {
  for (const Sums& sums : sums_) fill(sums);
  if (!is_interrupted_) note_refused();
  auto notes = names_in_words(name_all(names));
  is_interrupted_ = is_interrupted_ || (names.stop && *names.stop);
  if (is_interrupted_) notes = {interrupted_in_words()};
  for (std::string& note : notes) window_.meta.notes.push_back(std::move(note));
  if (!cut_maps_.empty()) window_.meta.notes.push_back(cut_maps_in_words(cut_maps_));
  note_changed();
  note_32_bit();
  if (is_lent_) hide_addresses();
  if (!files_.left_out().empty())
    window_.meta.notes.push_back(left_out_in_words(files_.left_out(), files_.held_up()));
}

namespace {

// Describes the run time that the samples represent (run_time_coverage.hpp), for recorders that
// sample run time.
std::string run_time_represented(const Snapshot& window, const Recorded& recorder,
                                 const StackTally& tally) {
  const auto samples =
      std::ranges::find(recorder.metrics, "running-stacks",
                        [](const auto& metric) { return std::string_view(metric->role); });
  const Column* column = samples == recorder.metrics.end() || !window.window
                             ? nullptr
                             : window.threads().find((*samples)->name);
  return column ? in_words(represented(window, *column, tally.records)) : "";
}

}  // namespace

void put_stacks(const RecordedWindow& recorded, int proc, Snapshot& window, OwnEnds ends,
                const NameOptions& wanted) {
  NameOptions names = wanted;
  if (names.stop && *names.stop) names.stop = nullptr;
  RecordedStacks stacks(window, proc, ends);
  stacks.pinned(recorded.files);
  if (recorded.depth > 0) stacks.limit_depth(recorded.depth);
  for (const ProcessCode& code : recorded.code)
    stacks.mapped(code.tgid, code.read_ns, code.mappings, code.owner);
  for (const Recorded& recorder : recorded.recorders) {
    stacks.begin(recorder.plugin, recorder.source, recorder.metrics, recorder.tables);
    window.meta.stacks.back().covered_ns = recorder.covered_ns;
    recorder.records.for_each(
        [&](const ctprof_record& record) {
          if (names.stop && *names.stop) stacks.interrupt();
          stacks.take(record);
        },
        [&](const ctprof_change& change) { stacks.take(change); });
  }
  stacks.finish(names);
  for (std::size_t i = 0; i < recorded.recorders.size(); ++i) {
    StackTally tally = window.meta.stacks[i];
    if (i > 0) tally.unnamed = 0;  // counts the frames of all recorders; reported for the first one
    window.meta.notes.push_back(in_words(
        recorded.recorders[i], tally, run_time_represented(window, recorded.recorders[i], tally)));
  }
}

}  // namespace ctprof

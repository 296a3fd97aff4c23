#include "core/capture/recorded_stacks.hpp"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/clock.hpp"
#include "core/capture/recorder_notes.hpp"
#include "core/capture/run_time_coverage.hpp"
#include "core/registry/identity.hpp"
#include "core/stacks/hidden_offsets.hpp"
#include "core/window/differences.hpp"
#include "core/window/recorded_values.hpp"

namespace ctprof {
namespace {

constexpr std::uint32_t kNoNumber = std::numeric_limits<std::uint32_t>::max();
// Larger than all process ids.
constexpr std::uint64_t kNextProcess = 1ULL << 32;

// Returns the metric, marked as one that describes the window.
SharedMetric as_window_metric(MetricDef metric) {
  metric.covers_window = metric.storage != Storage::Stacks;
  return metric;
}

}  // namespace

RecordedStacks::RecordedStacks(Snapshot& window, int proc, ExclusiveEnds exclusive_ends,
                               std::chrono::milliseconds timeout, const FrameLimits& limits,
                               bool has_extra_rights)
    : window_(window),
      exclusive_ends_(exclusive_ends),
      has_extra_rights_(has_extra_rights),
      own_processes_(proc, has_extra_rights),
      rows_(window),
      files_(proc, timeout, has_extra_rights),
      modules_([this](std::uint64_t process, const CodeRange& range,
                      const std::string& path) { return open(process, range, path); },
               limits),
      unwinder_(modules_) {}

sdk::Fd RecordedStacks::open(std::uint64_t process, const CodeRange& range,
                             const std::string& path) {
  if (range.module >= module_origins_.size()) return sdk::Fd();
  Origin& origin = module_origins_[range.module];
  if (origin.file.inode == 0 || origin.is_changed) return sdk::Fd();
  const auto entry = processes_.find(process);
  const auto owner = entry == processes_.end() ? std::nullopt : entry->second.owner;
  sdk::Fd fd = files_.open(process, range, path, origin.file, owner,
                           content_of(origin.file, origin.mapped_ns));
  origin.is_changed = files_.is_changed();
  if (fd) origin.opened_stamp = read_stamp(fd.get()).value_or(FileStamp{});
  return fd;
}

// Checks again for changes, because names are read long after call frame information.
const ElfFile* RecordedStacks::find_unchanged_file(std::uint32_t module) {
  const ElfFile* file = modules_.file(module);
  if (!file || file->fd() < 0 || module >= module_origins_.size()) return file;
  Origin& origin = module_origins_[module];
  const auto current_stamp = read_stamp(file->fd());
  if (!current_stamp || !current_stamp->has_same_content(origin.opened_stamp))
    origin.is_changed = true;
  return origin.is_changed ? nullptr : file;
}

RecordedStacks::Combination RecordedStacks::combination_of(const MetricDef& def) {
  if (def.family == "cumulative") return Combination::Sum;
  return def.reduction == "min" ? Combination::Min : Combination::Max;
}

void RecordedStacks::begin_source(const std::string& plugin, const std::string& source,
                                  const std::vector<SharedMetric>& metrics,
                                  const std::vector<TableFile>& tables,
                                  const std::vector<bool>& selected) {
  processes_ = initial_processes_;
  tables_ = tables;
  table_modules_.clear();
  overlay_modules_.clear();
  last_stacks_.clear();
  known_stacks_.clear();
  tally_ = &window_.meta.stacks.emplace_back(StackTally{.plugin = plugin, .source = source});
  by_offer_.assign(metrics.size(), nullptr);
  for (std::size_t offer = 0; offer < metrics.size(); ++offer) {
    const MetricDef& def = metrics[offer];
    const bool is_selected = selected.empty() || selected[offer];
    if (!is_selected || window_.threads().find(def.name)) continue;
    // Numbers count events of a span of time, which a single snapshot does not have.
    if (!window_.window && def.storage != Storage::Stacks) continue;
    Column& column = window_.threads().add(as_window_metric(def), Gap::Untouched);
    column.provenance = {plugin, source, Gap::None, ""};
    by_offer_[offer] = &sums_.emplace_back(ColumnSums{.metric = def.name,
                                                      .storage = def.storage,
                                                      .combination = combination_of(def),
                                                      .source = window_.meta.stacks.size() - 1});
  }
}

// --- the stack of a record ---

// Two files with the same path and without build ids are two modules: a process id distinguishes
// the second one.
std::uint32_t RecordedStacks::add_module(std::uint32_t module, std::uint64_t tgid) {
  if (module_numbers_.size() < modules_.size()) module_numbers_.resize(modules_.size(), kNoNumber);
  std::uint32_t& number = module_numbers_[module];
  if (number != kNoNumber) return number;
  Module added = modules_[module];
  const bool is_by_path = added.kind == Module::Kind::File && added.build_id.empty();
  const auto is_used_by_other_module = [&] {
    return number < modules_by_number_.size() && modules_by_number_[number] != Modules::kUnknown;
  };
  number = stack_table().add_module(added);
  for (added.process = tgid; is_by_path && is_used_by_other_module(); added.process += kNextProcess)
    number = stack_table().add_module(added);
  if (modules_by_number_.size() <= number) modules_by_number_.resize(number + 1, Modules::kUnknown);
  return modules_by_number_[number] = module, number;
}

std::uint32_t RecordedStacks::add_stack_node(WalkEnd ending, std::uint64_t tgid) {
  for (Frame& frame : frames_) frame.module = add_module(frame.module, tgid);
  const std::uint32_t node = stack_table().add_stack(frames_, ending);
  if (node != StackTable::kNoStack) return node;
  ++tally_->stacks_beyond_limit;
  return StackTable::kTop;
}

std::uint32_t RecordedStacks::add_rest_node() {
  const std::uint32_t frame =
      stack_table().add_frame({Frame::kNoOffset, add_module(Modules::kUnknown, 0), false});
  const std::uint32_t node = stack_table().add_node({StackTable::kTop, frame});
  if (node == StackTable::kNoStack) return StackTable::kTop;
  stack_table().set_name(frame, "[rest]");
  return node;
}

RecordedStacks::UnwoundStack RecordedStacks::unwind(const ctprof_record& record) {
  const WalkEnd ending = find_frames(record);
  const bool is_guessed = std::ranges::any_of(frames_, &Frame::is_guessed);
  return {record.start_time_clock_ticks, add_stack_node(ending, record.tgid), ending, is_guessed};
}

// The kernel part does not depend on mappings. A stack beyond the limit of the table is not stored,
// so that each of its records is counted.
RecordedStacks::UnwoundStack RecordedStacks::unwind(const ctprof_record& record,
                                                    std::uint32_t stack) {
  if (stack == RecordArena::kUnique) return unwind(record);
  if (known_stacks_.size() <= stack) known_stacks_.resize(stack + 1);
  const bool has_user = record.user_kind != CTPROF_USER_NONE;
  const std::uint64_t version = has_user ? process_of(record.tgid).version : 0;
  KnownStack& known = known_stacks_[stack];
  if (known.version == version) return known.unwound;
  const std::uint64_t count_beyond_limit = tally_->stacks_beyond_limit;
  const UnwoundStack unwound = unwind(record);
  if (tally_->stacks_beyond_limit == count_beyond_limit) known = {version, unwound};
  return unwound;
}

// Unwinds even if the record does not count, because a later record may refer to its stack
// (CTPROF_RECORD_AGAIN).
RecordedStacks::UnwoundStack RecordedStacks::stack_of(const ctprof_record& record,
                                                      std::uint32_t stack) {
  // Ids have 22 bits.
  const std::uint64_t thread = std::uint64_t{record.offer} << 44 | record.tgid << 22 | record.tid;
  if ((record.flags & (CTPROF_RECORD_AGAIN | CTPROF_RECORD_REST)) == 0)
    return last_stacks_.insert_or_assign(thread, unwind(record, stack)).first->second;
  const auto last = last_stacks_.find(thread);
  const bool is_known = (record.flags & CTPROF_RECORD_REST) == 0 && last != last_stacks_.end() &&
                        last->second.start == record.start_time_clock_ticks;
  return is_known ? last->second : UnwoundStack{.node = add_rest_node()};
}

void RecordedStacks::note_unseen(ColumnSums& sums, const ThreadRows::Row* thread) {
  if (thread) sums.unseen_rows.push_back(thread->row);
}

void RecordedStacks::add_number(ColumnSums& sums, const ThreadRows::Row* thread,
                                std::uint64_t weight) {
  if (!thread) {
    if (sums.combination == Combination::Sum) sums.number_without_row += weight;
    return;
  }
  if (sums.numbers_by_row.size() <= thread->row) sums.numbers_by_row.resize(thread->row + 1);
  std::optional<std::uint64_t>& number = sums.numbers_by_row[thread->row];
  if (!number) return void(number = weight);
  switch (sums.combination) {
    case Combination::Sum: *number += weight; return;
    case Combination::Max: *number = std::max(*number, weight); return;
    case Combination::Min: *number = std::min(*number, weight); return;
  }
}

void RecordedStacks::add_to_histogram(ColumnSums& sums, const ThreadRows::Row* thread,
                                      const ctprof_record& record) {
  if (!thread) return void(sums.number_without_row += record.weight);
  std::uint64_t& bucket = sums.histograms_by_row[thread->row][record.element];
  if (__builtin_add_overflow(bucket, record.weight, &bucket)) bucket = UINT64_MAX;
}

void RecordedStacks::count_record(const ctprof_record& record, const UnwoundStack& unwound) {
  const WalkEnd ending = unwound.ending;
  ++tally_->records;
  tally_->complete_stacks += ending == WalkEnd::Root;
  tally_->stacks_beyond_copy += ending == WalkEnd::EndOfCopy;
  tally_->too_deep_stacks += ending == WalkEnd::TooDeep;
  tally_->without_user += (record.flags & CTPROF_RECORD_NO_USER) != 0;
  tally_->stacks_without_rule +=
      ending == WalkEnd::Failed && (record.flags & CTPROF_RECORD_NO_USER) == 0;
  if (ending == WalkEnd::OtherStack)
    tally_->stacks_on_other_stack = tally_->stacks_on_other_stack.value_or(0) + 1;
  tally_->guessed_stacks += unwound.is_guessed;
}

// A thread without a row started while the end of the window was read, or its exit was not
// reported. Records of an exited thread count even after its row was read, because no later window
// has a row for it.
bool RecordedStacks::belongs_to_window(const ctprof_record& record,
                                       const ThreadRows::Row* thread) const {
  if (record.at_ns == 0 || !window_.window) return true;  // no time, or a snapshot
  if (record.flags & CTPROF_RECORD_OF_WINDOW) return true;
  const SeenTimes window{window_.window->opened_at.boottime_ns, window_.meta.start.boottime_ns};
  const SeenTimes& read_times = thread ? thread->read_times : window;
  const bool has_exited = thread && thread->row >= window_.window->living_threads;
  return (!exclusive_ends_.has_own_begin || record.at_ns >= read_times.first) &&
         (!exclusive_ends_.has_own_end || has_exited || record.at_ns <= read_times.last);
}

void RecordedStacks::add(const ctprof_record& record, std::uint32_t stack) {
  ColumnSums* sums = record.offer < by_offer_.size() ? by_offer_[record.offer] : nullptr;
  const ThreadRows::Row* thread = rows_.find(record);
  if (!sums) return;
  if (record.flags & CTPROF_RECORD_UNSEEN) return note_unseen(*sums, thread);
  const bool counts = belongs_to_window(record, thread);
  if (sums->storage != Storage::Stacks && !counts) return;
  if (sums->storage == Storage::Array) return add_to_histogram(*sums, thread, record);
  if (sums->storage != Storage::Stacks) return add_number(*sums, thread, record.weight);
  if (own_processes_.find_access(record.tgid) != OwnProcesses::Access::Own)
    return note_unseen(*sums, thread);
  const UnwoundStack unwound = stack_of(record, stack);
  if (!counts) return;
  if ((record.flags & CTPROF_RECORD_REST) == 0) count_record(record, unwound);
  tally_->records_without_row += thread ? 0 : 1;
  (thread ? sums->stacks_by_row[thread->row] : sums->stacks_without_row)
      .push_back({unwound.node, record.weight});
}

// --- all stacks ---

void RecordedStacks::fill_stacks(const ColumnSums& sums, Column& column) {
  StackPool& pool = window_.pools->stacks;
  std::ranges::fill(column.ids(), pool.append({}));
  std::ranges::fill(column.gaps(), ctprof_gap{CTPROF_VALUE});
  for (const std::uint32_t row : sums.unseen_rows)
    if (!sums.stacks_by_row.contains(row)) column.gaps()[row] = CTPROF_DENIED;
  if (has_extra_rights_) mark_foreign_processes(column);
  for (const auto& [row, stacks] : sums.stacks_by_row) {
    column.ids()[row] = pool.append(stacks);
    column.gaps()[row] = CTPROF_VALUE;
  }
}

// Recorders omit processes that the user may not inspect, so zero records mean Denied there. The
// access to an exited process is unknown unless a record was delivered while it lived.
void RecordedStacks::mark_foreign_processes(Column& column) {
  const Column* processes = window_.threads().find(kTgid);
  for (std::size_t row = 0; processes && row < column.rows(); ++row)
    if (!processes->has_value(row) ||
        own_processes_.find_access(processes->u64()[row]) != OwnProcesses::Access::Own)
      column.gaps()[row] = CTPROF_DENIED;
}

void RecordedStacks::hide_addresses() {
  stack_table() = replace_addresses(stack_table());
  window_.meta.notes.push_back("call stacks are limited to processes that user " +
                               std::to_string(::getuid()) +
                               " may trace without ctprof's file capabilities; run ctprof "
                               "as root for other processes");
}

// Numbers that are summed start at zero when the window opens.
void RecordedStacks::fill_numbers(const ColumnSums& sums, Column& column) {
  const bool is_sum = sums.combination == Combination::Sum;
  std::ranges::fill(column.gaps(), is_sum ? ctprof_gap{CTPROF_VALUE}
                                          : static_cast<ctprof_gap>(Gap::NotApplicable));
  for (const std::uint32_t row : sums.unseen_rows) column.gaps()[row] = CTPROF_DENIED;
  for (std::size_t row = 0; row < sums.numbers_by_row.size(); ++row) {
    if (!sums.numbers_by_row[row]) continue;
    column.u64()[row] = *sums.numbers_by_row[row];
    column.gaps()[row] = CTPROF_VALUE;
  }
  if (is_sum) add_zero_base(window_, column);
}

// A thread without a record has an empty histogram.
void RecordedStacks::fill_histograms(const ColumnSums& sums, Column& column) {
  WordsPool& pool = window_.pools->words;
  std::ranges::fill(column.ids(), pool.intern({}));
  std::ranges::fill(column.gaps(), ctprof_gap{CTPROF_VALUE});
  for (const std::uint32_t row : sums.unseen_rows) column.gaps()[row] = CTPROF_DENIED;
  for (const auto& [row, buckets] : sums.histograms_by_row) {
    column.ids()[row] = pool.intern(rules::trim_buckets(buckets));
    column.gaps()[row] = CTPROF_VALUE;
  }
}

void RecordedStacks::fill_column(const ColumnSums& sums) {
  Column& column = *window_.threads().find(sums.metric);
  const bool are_stacks = sums.storage == Storage::Stacks;
  if (sums.storage == Storage::Array)
    fill_histograms(sums, column);
  else
    are_stacks ? fill_stacks(sums, column) : fill_numbers(sums, column);
  const std::uint64_t weight =
      are_stacks ? total_weight(sums.stacks_without_row) : sums.number_without_row;
  if (weight == 0 || !noted_sources_.insert(sums.source).second) return;
  window_.meta.notes.push_back(describe_values_without_row(weight, column.def()));
}

void RecordedStacks::interrupt() {
  is_interrupted_ = true;
  modules_.refuse_all_rules();
}

void RecordedStacks::finish(const NameOptions& names) {
  for (const ColumnSums& sums : sums_) fill_column(sums);
  if (!is_interrupted_) note_unwind_limits();
  auto notes = describe_name_limits(name_frames(names));
  is_interrupted_ = is_interrupted_ || (names.stop && *names.stop);
  if (is_interrupted_) notes = {describe_interruption()};
  for (std::string& note : notes) window_.meta.notes.push_back(std::move(note));
  if (!truncated_maps_.empty())
    window_.meta.notes.push_back(describe_truncated_maps(truncated_maps_));
  note_changed_files();
  note_32_bit_files();
  if (has_extra_rights_) hide_addresses();
  if (!files_.unopened_files().empty())
    window_.meta.notes.push_back(
        describe_unopened_files(files_.unopened_files(), files_.count_timeouts()));
}

namespace {

// Describes the run time that the samples represent (run_time_coverage.hpp), for recorders that
// sample run time.
std::string describe_run_time_coverage(const Snapshot& window, const RecorderResult& recorder,
                                       const StackTally& tally) {
  const auto samples =
      std::ranges::find(recorder.metrics, "running-stacks",
                        [](const auto& metric) { return std::string_view(metric->role); });
  const Column* column = samples == recorder.metrics.end() || !window.window
                             ? nullptr
                             : window.threads().find((*samples)->name);
  return column ? describe_coverage(compute_run_time_coverage(window, *column, tally.records)) : "";
}

}  // namespace

void put_stacks(const RecordedWindow& recorded, int proc, Snapshot& window,
                ExclusiveEnds exclusive_ends, const NameOptions& requested) {
  NameOptions names = requested;
  if (names.stop && *names.stop) names.stop = nullptr;
  RecordedStacks stacks(window, proc, exclusive_ends);
  stacks.set_pinned_files(recorded.files);
  stacks.set_own_processes(recorded.own_processes);
  if (recorded.max_frames > 0) stacks.limit_depth(recorded.max_frames);
  for (const ProcessCode& code : recorded.code)
    stacks.add_mappings(code.tgid, code.read_ns, code.mappings, code.owner);
  for (const RecorderResult& recorder : recorded.recorders) {
    stacks.begin_source(recorder.plugin, recorder.source, recorder.metrics, recorder.tables,
                        recorder.selected_offers);
    window.meta.stacks.back().covered_ns = recorder.covered_ns;
    recorder.records.for_each(
        [&](const ctprof_record& record, std::uint32_t stack) {
          if (names.stop && *names.stop) stacks.interrupt();
          stacks.add(record, stack);
        },
        [&](const ctprof_change& change) { stacks.add(change); });
  }
  stacks.finish(names);
  for (std::size_t i = 0; i < recorded.recorders.size(); ++i) {
    StackTally tally = window.meta.stacks[i];
    // Only one line has the number of unnamed frames, because it is the total of all recorders.
    if (i > 0) tally.unnamed_frames = 0;
    window.meta.notes.push_back(
        describe_recorder(recorded.recorders[i], tally,
                          describe_run_time_coverage(window, recorded.recorders[i], tally)));
  }
}

}  // namespace ctprof

#include "core/capture/record_checks.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/capture/record_arena.hpp"

namespace ctprof {
namespace {

// The highest id that the kernel assigns (PID_MAX_LIMIT).
constexpr std::uint64_t kMaxId = 1 << 22;

bool is_valid_id(std::uint64_t id) { return id > 0 && id <= kMaxId; }

bool is_present(const void* data, std::size_t size) { return data || size == 0; }

// Each word must be an address, or refer to an existing unwind table.
bool are_valid_frames(const ctprof_record& record, std::size_t tables) {
  return std::ranges::all_of(
      std::span(record.user, record.user_count), [tables](std::uint64_t word) {
        const std::uint64_t table = (word & ~CTPROF_FRAME_GUESSED) >> CTPROF_FRAME_TABLE_SHIFT;
        return (word & CTPROF_FRAME_ADDRESS) != 0 || (table >= 1 && table <= tables);
      });
}

bool has_no_stack(ctprof_record_flags flags) {
  return (flags & (CTPROF_RECORD_AGAIN | CTPROF_RECORD_REST | CTPROF_RECORD_UNSEEN)) != 0;
}

}  // namespace

std::string find_error(const ctprof_record& record, const PlannedSource& planned,
                       std::size_t tables) {
  const std::vector<bool>& selected = planned.selected_offers;
  if (record.offer >= selected.size() || !selected[record.offer])
    return "of offer " + std::to_string(record.offer) + ", which was not requested";
  const Storage storage = planned.source->offers[record.offer].metric->storage;
  const bool is_number = storage != Storage::Stacks;
  if ((is_number || has_no_stack(record.flags)) &&
      (record.kernel_count > 0 || record.user_kind != CTPROF_USER_NONE))
    return "where only a weight is expected";
  if (storage == Storage::Array && record.element >= CTPROF_HISTOGRAM_BUCKETS)
    return "of bucket " + std::to_string(record.element) + ", which no histogram has";
  if (!is_valid_id(record.tgid) || !is_valid_id(record.tid))
    return "of the invalid thread " + std::to_string(record.tgid) + "/" +
           std::to_string(record.tid);
  if (record.user_kind > CTPROF_USER_FRAMES)
    return "whose user part is of the unknown kind " + std::to_string(record.user_kind);
  if (record.kernel_count > RecordArena::kMaxAddresses ||
      record.user_count > RecordArena::kMaxAddresses)
    return "with more than " + std::to_string(RecordArena::kMaxAddresses) + " addresses";
  if (record.stack_size > RecordArena::kMaxStack)
    return "with more than " + std::to_string(RecordArena::kMaxStack) + " bytes of stack";
  if (!is_present(record.kernel, record.kernel_count) ||
      !is_present(record.user, record.user_count) || !is_present(record.stack, record.stack_size))
    return "with NULL instead of a stack";
  if (record.user_kind == CTPROF_USER_FRAMES && !are_valid_frames(record, tables))
    return "with a frame of an unwind table that does not exist";
  return {};
}

std::string find_error(const ctprof_change& change) {
  if (change.kind > CTPROF_CHANGE_REMAPPED)
    return "of the unknown kind " + std::to_string(change.kind);
  if (!is_valid_id(change.tgid)) return "of the invalid process " + std::to_string(change.tgid);
  if (change.path.size > RecordArena::kMaxText)
    return "with a path of more than " + std::to_string(RecordArena::kMaxText) + " bytes";
  if (!is_present(change.path.data, change.path.size)) return "with NULL instead of a path";
  return {};
}

}  // namespace ctprof

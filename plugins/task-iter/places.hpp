// Hidden columns: where a user thread's own storage is, and which program it runs. For whoever
// looks into its memory.
//
// What is here:   the columns.
// What is not:    looking (heap.hpp).

#pragma once

#include "plugins/shared/fields.hpp"
#include "plugins/task-iter/decode.hpp"

namespace ctprof::task_iter {

inline constexpr sdk::Metric<sdk::IdU64, sdk::Key> kThreadPointer{
    {.name = "thread_pointer",
     .description = "Where the thread's own storage is.",
     .flags = CTPROF_METRIC_HIDDEN}};
inline constexpr sdk::Metric<sdk::IdU64, sdk::Key> kCodeStart{
    {.name = "code_start",
     .description = "Where the program's code begins.",
     .flags = CTPROF_METRIC_HIDDEN}};
inline constexpr sdk::Metric<sdk::IdU64, sdk::Key> kCodeEnd{
    {.name = "code_end",
     .description = "Where the program's code ends.",
     .flags = CTPROF_METRIC_HIDDEN}};
inline constexpr sdk::Metric<sdk::IdU64, sdk::Key> kStackStart{
    {.name = "stack_start",
     .description = "Where the first thread's stack begins.",
     .flags = CTPROF_METRIC_HIDDEN}};

// Kernel threads and those that have ended have no such places.
class Places : public Fields<kThreadPointer, kCodeStart, kCodeEnd, kStackStart> {
 public:
  using Fields::Fields;
  void put(std::uint32_t row, const record& task) {
    if ((task.of & RECORD_OF_MEMORY) == 0) return fail(row, Gap::NotApplicable);
    Fields::put(row, task.thread_pointer, task.start_code, task.end_code, task.start_stack);
  }
};

}  // namespace ctprof::task_iter

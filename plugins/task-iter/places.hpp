// Hidden columns: where a user thread's own storage is, and which program it runs. For whoever
// looks into its memory.
//
// What is here:   the columns.
// What is not:    looking (heap.hpp).

#pragma once

#include "ctprof/table.hpp"
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
template <auto kMember>
sdk::ReadingOf<sdk::IdU64> place(const record& task) {
  if ((task.of & RECORD_OF_MEMORY) == 0) return Gap::NotApplicable;
  return std::uint64_t{task.*kMember};
}

using Places = sdk::Table<sdk::Fill<kThreadPointer, place<&record::thread_pointer>>,
                          sdk::Fill<kCodeStart, place<&record::start_code>>,
                          sdk::Fill<kCodeEnd, place<&record::end_code>>,
                          sdk::Fill<kStackStart, place<&record::start_stack>>>;

}  // namespace ctprof::task_iter

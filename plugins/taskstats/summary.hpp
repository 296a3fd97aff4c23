// What asking for taskstats met with: `taskstats_summary` of the file.
//
// Fields of the reference: ok_count, eperm_count, esrch_count, other_err_count; and one of ours,
// asked_again_count, of threads whose answer was lost at first.

#pragma once

#include <cstdint>

#include "ctprof/batch.hpp"
#include "ctprof/source.hpp"

namespace ctprof::taskstats {

// Threads, by what became of their answer.
enum class Tally : std::uint32_t {
  Ok,
  Denied,
  Gone,
  Other,
  AskedAgain,
  MayPredate,  // of Ok: no delay but cpu's is recorded, and the switch may be younger than the
               // thread
};
inline constexpr std::uint32_t kTallies = 6;

void count_answer(const sdk::Batch& batch, int error);
inline void count(const sdk::Batch& batch, Tally tally) {
  batch.tally(static_cast<std::uint32_t>(tally));
}

void put_taskstats_summary(const sdk::Summary& summary);

}  // namespace ctprof::taskstats

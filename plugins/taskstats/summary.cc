#include "plugins/taskstats/summary.hpp"

#include <cerrno>
#include <string>

namespace ctprof::taskstats {
namespace {

Tally tally_of(int error) {
  switch (error) {
    case 0: return Tally::Ok;
    case EPERM: return Tally::Denied;
    case ESRCH: return Tally::Gone;
    default: return Tally::Other;
  }
}

}  // namespace

void count_answer(const sdk::Batch& batch, int error) { count(batch, tally_of(error)); }

void put_taskstats_summary(const sdk::Summary& summary) {
  const auto tally = [&](Tally which) { return summary.tally(static_cast<std::uint32_t>(which)); };
  summary.put("ok_count", tally(Tally::Ok));
  summary.put("eperm_count", tally(Tally::Denied));
  summary.put("esrch_count", tally(Tally::Gone));
  summary.put("other_err_count", tally(Tally::Other));
  summary.put("asked_again_count", tally(Tally::AskedAgain));
  if (tally(Tally::MayPredate) > 0)
    summary.note(
        "taskstats: kernel.task_delayacct was switched on after the kernel had started. Threads "
        "older than that show no delays "
        "but cpu's, and cannot be told from those that had none: " +
        std::to_string(tally(Tally::MayPredate)) + " of " + std::to_string(tally(Tally::Ok)) +
        " show none; with delayacct on the kernel's command line all are accounted for");
}

}  // namespace ctprof::taskstats

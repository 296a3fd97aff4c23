#include "plugins/task-iter/names.hpp"

#include "ctprof/listing.hpp"
#include "plugins/task-iter/decode.hpp"

namespace ctprof::task_iter {
namespace {

bool is_worker(const record& task) { return (task.flags & kWorker) != 0; }

// A name that fills its room may have been longer; user threads have no longer ones.
bool is_cut(const record& task) {
  return (task.flags & kKernelThread) != 0 && short_name(task).size() == RECORD_COMM - 1;
}

}  // namespace

std::string_view Names::of(const record& task) {
  if (!is_cut(task)) return short_name(task);
  const auto [known, is_new] = known_.try_emplace({task.tid, task.start_boottime});
  if (is_new) known->second = read(task);
  return known->second;
}

std::string_view Names::read(const record& task) {
  const auto text = file_.read(host_, {0, task.tgid, task.tid, -1}, "comm");
  if (!text) return short_name(task);
  const std::string_view name = sdk::name_in_comm(text.value);
  return is_worker(task) ? sdk::worker_name(name) : name;
}

}  // namespace ctprof::task_iter

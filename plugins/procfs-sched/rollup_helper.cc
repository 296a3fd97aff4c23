#include "plugins/procfs-sched/rollup_helper.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <utility>

#include "ctprof/files.hpp"

namespace ctprof::procfs {
namespace {

// A walk over the page tables of a big process may take seconds.
constexpr HelperLimits kLimits{.cpu_seconds = 600, .more_memory = 64 << 20, .busy_is_alive = true};
constexpr std::size_t kMostItems = CTPROF_MAX_ROWS;

constexpr std::size_t kMostText = 3072;  // of one process: thrice what the kernel writes

struct Item {
  std::uint64_t tgid;
  std::int32_t error;
  std::uint32_t first;
  std::uint32_t size;
};

struct Board {
  std::uint32_t count;
  std::atomic<std::uint32_t> done;
  Item items[kMostItems];
  char texts[kMostItems * kMostText];  // one behind the other, so that few pages are touched
};

// `first` is where its text is to stand.
void read(int proc, sdk::TextFile& file, Board& board, Item& item, std::size_t first) {
  char path[64];
  std::snprintf(path, sizeof path, "%llu/smaps_rollup", static_cast<unsigned long long>(item.tgid));
  const auto text = file.read(proc, path);
  item.error = text ? 0 : file.last_errno();
  if (text && text.value.size() > kMostText) item.error = EMSGSIZE;
  item.first = static_cast<std::uint32_t>(first);
  item.size = item.error == 0 ? static_cast<std::uint32_t>(text.value.size()) : 0;
  std::copy_n(text.value.begin(), item.size, board.texts + first);
}

HelperProcess::Serve begin(const HelperView& view) {
  return [view, file = std::make_shared<sdk::TextFile>()] {
    Board& board = *static_cast<Board*>(view.area);
    const std::size_t count = std::min<std::size_t>(board.count, kMostItems);
    for (std::size_t i = 0, first = 0; i < count; ++i) {
      read(view.proc, *file, board, board.items[i], first);
      first += board.items[i].size;
      board.done = static_cast<std::uint32_t>(i + 1);
      ++*view.steps;
    }
  };
}

// What a helper may have made up is brought into range.
RollupText answer_of(const Board& board, const Item& item) {
  const std::size_t first = item.first;
  const std::size_t size = item.size;
  RollupText answer{.error = item.error};
  if (first > sizeof board.texts || size > kMostText || size > sizeof board.texts - first)
    return {.error = EIO};
  if (answer.error == 0) answer.text.assign(board.texts + first, size);
  return answer;
}

std::mutex troubles_mutex;
std::vector<std::string> troubles;

void tell(std::string sentence) {
  const std::lock_guard lock(troubles_mutex);
  troubles.push_back(std::move(sentence));
}

}  // namespace

std::vector<std::string> take_rollup_troubles() {
  const std::lock_guard lock(troubles_mutex);
  return std::exchange(troubles, {});
}

std::shared_ptr<RollupHelper> shared_rollup_helper(const sdk::Host& host) {
  static std::mutex mutex;
  static std::weak_ptr<RollupHelper> current;
  static int current_proc = -1;
  const std::lock_guard lock(mutex);
  auto helper = current.lock();
  if (helper && current_proc == host.proc()) return helper;
  helper = std::make_shared<RollupHelper>(host.proc());
  current = helper;
  current_proc = host.proc();
  return helper;
}

bool RollupHelper::is_ready() {
  if (losses_ >= kMostLosses) return false;
  if (helper_) return true;
  helper_ = std::make_unique<HelperProcess>(proc_, sizeof(Board), kLimits, begin);
  if (helper_->error() == 0) return true;
  const std::string why = helper_->why_none();
  helper_.reset();
  losses_ = kMostLosses;
  tell("no process could be made to read smaps_rollup files (" + why + "): they are Busy");
  return false;
}

std::size_t RollupHelper::ask(std::span<const std::uint64_t> tgids, std::span<RollupText> answers) {
  Board& board = *static_cast<Board*>(helper_->area());
  const std::size_t count = std::min(tgids.size(), kMostItems);
  for (std::size_t i = 0; i < count; ++i) board.items[i].tgid = tgids[i];
  board.count = static_cast<std::uint32_t>(count);
  board.done = 0;
  const HelperProcess::Reply reply = helper_->ask();
  answered_ = reply == HelperProcess::Reply::Answered;
  late_ = reply == HelperProcess::Reply::Late;
  const std::size_t done = answered_ ? count : std::min<std::size_t>(board.done, count - 1);
  for (std::size_t i = 0; i < done; ++i) answers[i] = answer_of(board, board.items[i]);
  return done;
}

void RollupHelper::lose(std::uint64_t tgid) {
  helper_.reset();
  const std::string process = std::to_string(tgid);
  if (late_)
    tell("reading smaps_rollup of process " + process + " did not end within " +
         std::to_string(kHelperPatience) +
         " seconds: it is Busy; see what its threads wait for (/proc/" + process + "/stack)");
  else
    tell(
        "somebody ended the process that reads smaps_rollup files, when it was about to read that "
        "of process " +
        process + ": it is Busy");
  if (++losses_ == kMostLosses)
    tell("that happened " + std::to_string(losses_) +
         " times: no further smaps_rollup was read, they are Busy");
}

std::vector<RollupText> RollupHelper::read(std::span<const std::uint64_t> tgids) {
  const std::lock_guard lock(mutex_);
  std::vector<RollupText> answers(tgids.size());
  for (std::size_t next = 0; next < tgids.size() && is_ready();) {
    next += ask(tgids.subspan(next), std::span(answers).subspan(next));
    if (!answered_) lose(tgids[next++]);
  }
  return answers;
}

}  // namespace ctprof::procfs

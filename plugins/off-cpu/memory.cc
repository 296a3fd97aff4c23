#include "plugins/off-cpu/memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace ctprof::off_cpu {
namespace {

// Copies whole pieces, so that a missing page only loses the memory after it.
constexpr std::size_t kPiece = 1024, kMostPieces = 64;

void read_top(StackTop& top, std::size_t size) {
  top.bytes.resize(size);
  std::array<iovec, kMostPieces> pieces{};
  std::size_t count = 0;
  std::uint64_t at = top.from;
  for (std::uint64_t end = top.from + size; at < end && count < kMostPieces; ++count) {
    const std::uint64_t next = std::min<std::uint64_t>(end, at / kPiece * kPiece + kPiece);
    pieces[count] = {reinterpret_cast<void*>(at), next - at};
    at = next;
  }
  const iovec here{top.bytes.data(), top.bytes.size()};
  const ssize_t got =
      ::process_vm_readv(static_cast<pid_t>(top.tgid), &here, 1, pieces.data(), count, 0);
  top.bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
}

// State that the reader thread and its caller share; the last one to use it frees it.
struct Work {
  std::mutex guard;
  std::condition_variable changed;
  std::vector<StackTop> wanted, done;
  bool is_over = false;
};

void read_all(const std::shared_ptr<Work>& work, std::size_t size) {
  for (;;) {
    std::unique_lock lock(work->guard);
    if (work->is_over || work->wanted.empty()) break;
    StackTop top = std::move(work->wanted.back());
    work->wanted.pop_back();
    lock.unlock();
    read_top(top, size);
    lock.lock();
    if (!work->is_over) work->done.push_back(std::move(top));
  }
  const std::lock_guard lock(work->guard);
  work->is_over = true;
  work->changed.notify_all();
}

}  // namespace

std::vector<StackTop> StackTops::read(std::vector<StackTop> wanted, std::size_t size,
                                      std::chrono::milliseconds patience) {
  if (gave_up_ || wanted.empty()) return {};
  auto work = std::make_shared<Work>();
  work->wanted = std::move(wanted);
  std::thread reader([work, size] { read_all(work, size); });
  std::unique_lock lock(work->guard);
  gave_up_ = !work->changed.wait_for(lock, patience, [&] { return work->is_over; });
  work->is_over = true;
  std::vector<StackTop> done = std::move(work->done);
  lock.unlock();
  gave_up_ ? reader.detach() : reader.join();
  return done;
}

}  // namespace ctprof::off_cpu

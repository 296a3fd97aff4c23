#include "plugins/off-cpu/stack_top_reader.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace ctprof::off_cpu {
namespace {

// Copies whole pieces, so that a missing page only loses the memory after it.
constexpr std::size_t kPieceBytes = 1024, kMaxPieces = 64;

void read_top(StackTop& top, std::size_t size) {
  top.bytes.resize(size);
  std::array<iovec, kMaxPieces> pieces{};
  std::size_t count = 0;
  std::uint64_t address = top.address;
  for (std::uint64_t end = top.address + size; address < end && count < kMaxPieces; ++count) {
    const std::uint64_t piece_end =
        std::min<std::uint64_t>(end, address / kPieceBytes * kPieceBytes + kPieceBytes);
    pieces[count] = {reinterpret_cast<void*>(address), piece_end - address};
    address = piece_end;
  }
  const iovec local_buffer{top.bytes.data(), top.bytes.size()};
  const ssize_t size_read =
      ::process_vm_readv(static_cast<pid_t>(top.tgid), &local_buffer, 1, pieces.data(), count, 0);
  top.bytes.resize(size_read > 0 ? static_cast<std::size_t>(size_read) : 0);
}

// State that the reader thread and its caller share; the last one to use it frees it.
struct SharedState {
  std::mutex guard;
  std::condition_variable changed;
  std::vector<StackTop> pending, finished;
  bool is_finished = false;
};

void read_pending(const std::shared_ptr<SharedState>& shared_state, std::size_t size) {
  for (;;) {
    std::unique_lock lock(shared_state->guard);
    if (shared_state->is_finished || shared_state->pending.empty()) break;
    StackTop top = std::move(shared_state->pending.back());
    shared_state->pending.pop_back();
    lock.unlock();
    read_top(top, size);
    lock.lock();
    if (!shared_state->is_finished) shared_state->finished.push_back(std::move(top));
  }
  const std::lock_guard lock(shared_state->guard);
  shared_state->is_finished = true;
  shared_state->changed.notify_all();
}

}  // namespace

std::vector<StackTop> StackTopReader::read(std::vector<StackTop> requests, std::size_t size,
                                           std::chrono::milliseconds timeout) {
  if (has_given_up_ || requests.empty()) return {};
  auto shared_state = std::make_shared<SharedState>();
  shared_state->pending = std::move(requests);
  std::thread reader([shared_state, size] { read_pending(shared_state, size); });
  std::unique_lock lock(shared_state->guard);
  has_given_up_ =
      !shared_state->changed.wait_for(lock, timeout, [&] { return shared_state->is_finished; });
  shared_state->is_finished = true;
  std::vector<StackTop> done = std::move(shared_state->finished);
  lock.unlock();
  has_given_up_ ? reader.detach() : reader.join();
  return done;
}

}  // namespace ctprof::off_cpu

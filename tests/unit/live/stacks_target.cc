// The target program of stacks_live_test: its threads throw exceptions, sort, and receive signals.

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

[[gnu::noinline]] int throw_below(int depth) {
  if (depth == 0) throw std::runtime_error("thrown");
  const std::string text(static_cast<std::size_t>(depth), 'a');
  return throw_below(depth - 1) + static_cast<int>(text.size());
}

[[gnu::noinline]] bool throw_and_catch() {
  try {
    return throw_below(12) == 0;
  } catch (const std::exception&) {
    return true;
  }
}

int compare_values(const void* a, const void* b) {
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

void sort_numbers() {
  int numbers[100];
  for (int& number : numbers) number = std::rand();
  ::qsort(numbers, 100, sizeof numbers[0], compare_values);
}

// Sleeps, so that many samples are inside the handler.
void interrupt(int) { ::usleep(500); }

template <class Work>
void run_forever(Work work) {
  for (;;) work();
}

}  // namespace

int main() {
  std::thread([] { run_forever(throw_and_catch); }).detach();
  std::thread([] { run_forever([] { ::usleep(100); }); }).detach();
  ::signal(SIGALRM, interrupt);
  const itimerval interval{{0, 1000}, {0, 1000}};
  ::setitimer(ITIMER_REAL, &interval, nullptr);
  run_forever(sort_numbers);
}

/* stripped: a program that looks like a stripped program with jemalloc 5.2. Its variable starts
 * with STATE. Two of its functions add to the counters after STATE, and two more add to a different
 * pair of counters. It prints the distances of the former from the thread pointer, and sleeps.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static _Thread_local struct {
  uint64_t state, offset_state, allocated, deallocated;
  uint64_t more[60];
} tsd = {.state = STATE};
static _Thread_local struct { uint64_t got, gave; } own = {1, 1};

__attribute__((noinline)) static void allocate(uint64_t size) { tsd.allocated += size; }
__attribute__((noinline)) static void deallocate(uint64_t size) { tsd.deallocated += size; }
__attribute__((noinline)) static void get(uint64_t size) { own.got += size; }
__attribute__((noinline)) static void give(uint64_t size) { own.gave += size; }

int main(int count, char** words) {
  (void)words;
  for (int i = 0; i < count; ++i) {
    allocate((uint64_t)count), deallocate((uint64_t)count);
    get((uint64_t)count), give((uint64_t)count);
  }
  const intptr_t pointer = (intptr_t)__builtin_thread_pointer();
  printf("%ld %ld\n", (long)((intptr_t)&tsd.allocated - pointer),
         (long)((intptr_t)&tsd.deallocated - pointer));
  fflush(stdout);
  pause();
  return puts("<jemalloc>: ") + (int)tsd.more[count] + (int)own.got + (int)tsd.allocated;
}

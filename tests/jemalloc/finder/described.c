/* described: a program with jemalloc's symbol names but without its code, so that only debug
 * information describes the place of the counters. It prints their distances from the thread
 * pointer, and sleeps. LIBRARY builds only the part with the variable, MAIN the other part.
 */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#ifndef MAIN
struct tsd_s {
  char other[72];
  uint64_t cant_access_tsd_items_directly_use_a_getter_or_setter_thread_allocated;
  uint64_t between;
  uint64_t cant_access_tsd_items_directly_use_a_getter_or_setter_thread_deallocated;
  char more[400];
};
_Thread_local char before[40];
_Thread_local struct tsd_s je_tsd_tls;
int mallctl(long* allocated, long* deallocated) {
  before[0] = je_tsd_tls.other[0];
  const intptr_t pointer = (intptr_t)__builtin_thread_pointer();
  *allocated =
      (intptr_t)&je_tsd_tls.cant_access_tsd_items_directly_use_a_getter_or_setter_thread_allocated -
      pointer;
  *deallocated = (intptr_t)&je_tsd_tls
                     .cant_access_tsd_items_directly_use_a_getter_or_setter_thread_deallocated -
                 pointer;
  return 0;
}
#endif

#ifndef LIBRARY
int mallctl(long*, long*);
int main(void) {
  long allocated = 0, deallocated = 0;
  mallctl(&allocated, &deallocated);
  printf("%ld %ld\n", allocated, deallocated);
  fflush(stdout);
  pause();
  return 0;
}
#endif

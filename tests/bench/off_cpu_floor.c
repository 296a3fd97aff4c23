/* Attaches off_cpu_floor.bpf.c, prints "ready", and waits until standard input ends. */
#include <stdio.h>

#include "off_cpu_floor.skel.h"

int main(void) {
  struct off_cpu_floor_bpf* programs = off_cpu_floor_bpf__open_and_load();
  if (!programs || off_cpu_floor_bpf__attach(programs) != 0) return 1;
  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) continue;
  off_cpu_floor_bpf__destroy(programs);
  return 0;
}

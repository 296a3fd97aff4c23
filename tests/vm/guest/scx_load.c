/* scx_load: loads a sched_ext scheduler from a BPF object, prints "ready", and unloads it at
 * the end of standard input.
 *
 *   scx_load OBJECT
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <unistd.h>

static int fail(const char* what) {
  perror(what);
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) return fprintf(stderr, "usage: scx_load OBJECT\n"), 2;
  struct bpf_object* const object = bpf_object__open_file(argv[1], NULL);
  if (!object || bpf_object__load(object) != 0) return fail(argv[1]);
  struct bpf_map* const ops = bpf_object__find_map_by_name(object, "ctprof_ops");
  struct bpf_link* const link = ops ? bpf_map__attach_struct_ops(ops) : NULL;
  if (!link) return fail("attach");
  puts("ready");
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  bpf_link__destroy(link);
  bpf_object__close(object);
  return 0;
}

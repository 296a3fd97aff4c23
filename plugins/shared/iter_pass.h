/* Opens a pass of an iterator over threads (iter/task); returns the descriptor for its records, or
 * -1 and an errno. Include it after a generated skeleton that loads itself: it uses the system call
 * of that skeleton.
 */
#ifndef CTPROF_SHARED_ITER_PASS_H
#define CTPROF_SHARED_ITER_PASS_H

/* Creates a link whose passes visit only the threads of one process. Kernels before 6.1 do not
 * support this, and return E2BIG or EINVAL. */
static int link_to_process(int program, unsigned int tgid) {
  union bpf_iter_link_info link_info;
  union bpf_attr attributes;
  memset(&link_info, 0, sizeof link_info);
  memset(&attributes, 0, sizeof attributes);
  link_info.task.pid = tgid;
  attributes.link_create.prog_fd = (__u32)program;
  attributes.link_create.attach_type = BPF_TRACE_ITER;
  attributes.link_create.iter_info = (__u64)(unsigned long)&link_info;
  attributes.link_create.iter_info_len = sizeof link_info;
  return skel_sys_bpf(BPF_LINK_CREATE, &attributes, sizeof attributes);
}

static int open_pass(int link) {
  union bpf_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.iter_create.link_fd = (__u32)link;
  return skel_sys_bpf(BPF_ITER_CREATE, &attributes, sizeof attributes);
}

/* Opens a pass over the threads of one process if the kernel supports that. Otherwise, and if tgid
 * is 0, the pass visits all threads. */
static int open_pass_over_process(int program, int link_to_all, unsigned int tgid) {
  if (tgid == 0) return open_pass(link_to_all);
  int link = link_to_process(program, tgid);
  if (link < 0 && (errno == E2BIG || errno == EINVAL)) return open_pass(link_to_all);
  if (link < 0) return link;
  int pass = open_pass(link);
  int error = errno;
  close(link);
  errno = error;
  return pass;
}

#endif

/* A pass of an iterator over threads (iter/task), whose records are read from the descriptor that
 * it returns; -1, and an errno. Included behind a generated skeleton that loads itself, whose
 * system call it makes.
 */
#ifndef CTPROF_SHARED_ITER_PASS_H
#define CTPROF_SHARED_ITER_PASS_H

/* A link whose passes visit the threads of one process alone. Kernels before 6.1 cannot be told so,
 * and say E2BIG or EINVAL. */
static int link_to_process(int program, unsigned int tgid) {
  union bpf_iter_link_info which;
  union bpf_attr attributes;
  memset(&which, 0, sizeof which);
  memset(&attributes, 0, sizeof attributes);
  which.task.pid = tgid;
  attributes.link_create.prog_fd = (__u32)program;
  attributes.link_create.attach_type = BPF_TRACE_ITER;
  attributes.link_create.iter_info = (__u64)(unsigned long)&which;
  attributes.link_create.iter_info_len = sizeof which;
  return skel_sys_bpf(BPF_LINK_CREATE, &attributes, sizeof attributes);
}

static int open_pass(int link) {
  union bpf_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.iter_create.link_fd = (__u32)link;
  return skel_sys_bpf(BPF_ITER_CREATE, &attributes, sizeof attributes);
}

/* Over the threads of one process, where the kernel can do that; else, and of 0, over all. */
static int open_pass_over(int program, int link_to_all, unsigned int tgid) {
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

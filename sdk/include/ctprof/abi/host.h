/* ctprof/abi/host.h: the host that a source is asked about, and its answers. Part of ctprof/abi.h,
 * which says how all of it may change; include that. */
#ifndef CTPROF_ABI_HOST_H
#define CTPROF_ABI_HOST_H

#include "ctprof/abi/metric.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t ctprof_host_flags;
enum {
  CTPROF_HOST_LIVE = 1, /* the tree is the running kernel's, not a recording: netlink, BPF and the
                           like make sense */
  CTPROF_HOST_OWN_TIDS = 2 /* its thread ids are those that our own system calls understand */
};

/* What a source is told about the host. The struct is gone after the call; its directories and
 * strings stay until the plugin is closed. */
struct ctprof_host {
  uint32_t size;
  ctprof_host_flags flags;
  int32_t proc_fd; /* open directories, not to be closed; -1 where there is none */
  int32_t sys_fd;
  int32_t cgroup_fd;
  uint32_t user_hz;
  const char* proc; /* the same as paths, for messages */
  const char* sys;
  const char* cgroup;   /* where the cgroup v2 hierarchy is mounted, under the root asked for; ""
                           where it is not */
  uint64_t sample_tgid; /* a thread that exists, to try things on; our own on a live host */
  uint64_t sample_tid;
  void* context CTPROF_TAIL; /* what open_plugin made; NULL for a plugin without it, and in
                                open_plugin itself */
};

/* One source's word that it can fill one metric. */
struct ctprof_offer {
  const struct ctprof_metric* metric;
  int32_t rank; /* among several that can, the highest wins */
  uint32_t reserved;
};

/* What would change what this host lacks, and how `what` is to be read. */
typedef uint32_t ctprof_remedy;
enum {
  CTPROF_REMEDY_NONE = 0,    /* nothing would */
  CTPROF_REMEDY_COMMAND = 1, /* a command for root's shell, to be pasted as it is: "sysctl -w
                                kernel.sched_schedstats=1" */
  CTPROF_REMEDY_CAPABILITIES =
      2, /* capabilities that ctprof lacks, with commas between: "cap_bpf,cap_perfmon" */
  CTPROF_REMEDY_BOOT = 3,  /* words on the kernel's command line: "psi=1", "without nodelayacct" */
  CTPROF_REMEDY_KERNEL = 4 /* another kernel: "CONFIG_SCHEDSTATS=y", "Linux 6.12 or newer" */
};

/* What `probe` answers to: an offer that is not refused stands. */
struct ctprof_probe {
  uint32_t size;
  uint32_t reserved;
  void* core;
  void (*refuse)(void* core, uint32_t offer, ctprof_gap gap, const char* reason,
                 size_t reason_size);
  /* For people who want more than there is. Of an offer that was refused, `lack` empty: what would
   * change that. Of one that stands, as often as needed: a sentence on what stays a gap all the
   * same, and what would change that. A core that is older than this function has a smaller `size`.
   */
  void (*remedy)(void* core, uint32_t offer, const char* lack, size_t lack_size, ctprof_remedy kind,
                 const char* what, size_t what_size);
};

#ifdef __cplusplus
}
#endif

#endif

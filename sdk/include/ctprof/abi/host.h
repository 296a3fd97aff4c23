/* ctprof/abi/host.h: the host that a source is asked about, and its answers. Part of ctprof/abi.h,
 * which says how all of it may change; include that.
 *
 * A plugin meets the host three times: when it is opened (`open_plugin`), when each of its sources
 * is probed, and when workers are made. It is the same host every time, by the same descriptors.
 */
#ifndef CTPROF_ABI_HOST_H
#define CTPROF_ABI_HOST_H

#include "ctprof/abi/metric.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t ctprof_host_flags;
enum {
  /* The tree is the running kernel's, not a recording. Without this flag do not use netlink, BPF or
   * system calls that take ids: they would speak of another machine than /proc does. */
  CTPROF_HOST_LIVE = 1,
  /* Its thread ids are those that our own system calls understand. Not so where /proc is that of
   * another PID namespace. */
  CTPROF_HOST_OWN_TIDS = 2
};

/* Something that a plugin can be told: `--set PLUGIN.KEY=VALUE`. A key that is in no table is
 * refused by ctprof, and the keys that there are are named. What a value may be is the plugin's
 * business: open_plugin fails with a sentence when it cannot use one. */
struct ctprof_option {
  /* sizeof(struct ctprof_option) */
  uint32_t size;
  uint32_t reserved CTPROF_OPTIONAL;
  /* lower case letters, digits, - and _, beginning with a letter */
  const char* key;
  /* the value when none is set; NULL: "" */
  const char* fallback CTPROF_OPTIONAL;
  /* one sentence, which `ctprof plugins` shows */
  const char* description CTPROF_OPTIONAL;
};

/* An option and the value that it has in this capture. Both strings end with a NUL, and live until
 * the plugin is closed. */
struct ctprof_setting {
  const char* key;
  const char* value;
};

/* What a source is told about the host. The struct is gone after the call; its directories and
 * strings stay until the plugin is closed, so copy the struct if you need it later. */
struct ctprof_host {
  /* How much of the struct there is; a field beyond it is not there (an older ctprof). */
  uint32_t size;
  ctprof_host_flags flags;
  /* Open directories: /proc, /sys, and where the cgroup v2 hierarchy is mounted. Use them with
   * openat(2) and the like, and never build paths from "/proc": the user may have asked for the
   * tree of another root. They are not to be closed; -1 where there is none. */
  int32_t proc_fd;
  int32_t sys_fd;
  int32_t cgroup_fd;
  /* The kernel's clock ticks per second, as /proc counts them. */
  uint32_t user_hz;
  /* The same directories as paths, for messages. `cgroup` is "" where no hierarchy is mounted. */
  const char* proc;
  const char* sys;
  const char* cgroup;
  /* A thread that exists, to try things on; our own on a live host. */
  uint64_t sample_tgid;
  uint64_t sample_tid;
  /* What open_plugin made; NULL for a plugin without it, and in open_plugin itself. */
  void* context CTPROF_TAIL;
  /* Of struct ctprof_setting: every option of the plugin with its value, set or not, in the order
   * of the plugin's table. */
  struct ctprof_array options CTPROF_TAIL;
};

/* One source's word that it can fill one metric. Several sources may offer the same metric, if
 * they agree on what it means; one of them is chosen for the whole column. */
struct ctprof_offer {
  const struct ctprof_metric* metric;
  /* Among several that can, the highest wins. ctprof's own: 0 for /proc, 10 for taskstats, 20 for
   * BPF. Take a rank above another's only if you are cheaper or more exact. */
  int32_t rank CTPROF_OPTIONAL;
  uint32_t reserved CTPROF_OPTIONAL;
};

/* What would change what this host lacks, and how `what` is to be read. `ctprof doctor` prints
 * these for people and programs to act on, so name a remedy only where it is known to help. */
typedef uint32_t ctprof_remedy;
enum {
  /* nothing would */
  CTPROF_REMEDY_NONE = 0,
  /* a command for root's shell, to be pasted as it is: "sysctl -w kernel.sched_schedstats=1" */
  CTPROF_REMEDY_COMMAND = 1,
  /* capabilities that ctprof lacks, with commas between: "cap_bpf,cap_perfmon" */
  CTPROF_REMEDY_CAPABILITIES = 2,
  /* words on the kernel's command line: "psi=1", "without nodelayacct" */
  CTPROF_REMEDY_BOOT = 3,
  /* another kernel: "CONFIG_SCHEDSTATS=y", "Linux 6.12 or newer" */
  CTPROF_REMEDY_KERNEL = 4
};

/* What `probe` answers to. An offer that is not refused is accepted, and its source is then
 * expected to fill the column.
 *
 * Refuse what holds for the whole host: a missing option of the kernel, a right that is missing.
 * What holds for one row alone is a gap in that row. */
struct ctprof_probe {
  uint32_t size;
  uint32_t reserved;
  /* Handed back to the functions below. */
  void* core;
  /* Refuses an offer, by its number in the source's table. The reason is a sentence without a full
   * stop, and names the cause: "the kernel has no CONFIG_SCHED_INFO". Of two words on one offer
   * the last counts. */
  void (*refuse)(void* core, uint32_t offer, ctprof_gap gap, const char* reason,
                 size_t reason_size);
  /* For people who want more than there is. Of an offer that was refused, `lack` empty: what would
   * change that. Of one that was not refused, as often as needed: a sentence on what stays a gap
   * all the same, and what would change that. A core that is older than this function has a smaller
   * `size`.
   */
  void (*remedy)(void* core, uint32_t offer, const char* lack, size_t lack_size, ctprof_remedy kind,
                 const char* what, size_t what_size);
};

#ifdef __cplusplus
}
#endif

#endif

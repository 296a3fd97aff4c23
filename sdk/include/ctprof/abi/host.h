/* ctprof/abi/host.h: the host that a source reads, and the source's answers about it. Part of
 * ctprof/abi.h, which states the compatibility rules; include ctprof/abi.h instead.
 *
 * A plugin receives the host three times: when it is opened (`open_plugin`), when each of its
 * sources is probed, and when workers are created. It is the same host each time, with the same
 * descriptors.
 */
#ifndef CTPROF_ABI_HOST_H
#define CTPROF_ABI_HOST_H

#include "ctprof/abi/metric.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t ctprof_host_flags;
enum {
  /* The tree belongs to the running kernel and is not a recording. Without this flag, do not use
   * netlink, BPF or system calls that take ids: their results would describe another machine than
   * /proc does. */
  CTPROF_HOST_LIVE = 1,
  /* Its thread ids are valid in system calls of this process. They are not if /proc belongs to
   * another PID namespace. */
  CTPROF_HOST_OWN_TIDS = 2
};

/* An option of a plugin, set with `--set PLUGIN.KEY=VALUE`. ctprof refuses an unknown key and lists
 * the valid ones. The plugin validates the value: open_plugin fails with a message if the value is
 * invalid. */
struct ctprof_option {
  /* sizeof(struct ctprof_option) */
  uint32_t size;
  uint32_t reserved CTPROF_OPTIONAL;
  /* lower case letters, digits, - and _; the first character is a letter */
  const char* key;
  /* the default value; NULL: "" */
  const char* fallback CTPROF_OPTIONAL;
  /* one sentence, which `ctprof plugins` shows */
  const char* description CTPROF_OPTIONAL;
};

/* An option and its value in this capture. Both strings end with a NUL and are valid until the
 * plugin is closed. */
struct ctprof_setting {
  const char* key;
  const char* value;
};

/* The host as a source receives it. The struct is valid only during the call, its directories and
 * strings until the plugin is closed. Copy the struct if you need it later. */
struct ctprof_host {
  /* Size of the struct; fields beyond it do not exist (an older ctprof). */
  uint32_t size;
  ctprof_host_flags flags;
  /* Open directories: /proc, /sys, and the mount point of the cgroup v2 hierarchy; -1 if missing.
   * Use them with openat(2) and similar calls, and never build paths from "/proc": the user may
   * have selected the tree of another root. Do not close them. */
  int32_t proc_fd;
  int32_t sys_fd;
  int32_t cgroup_fd;
  /* Clock ticks per second in the units of /proc (USER_HZ). */
  uint32_t user_hz;
  /* The same directories as paths, for messages. `cgroup` is "" if no hierarchy is mounted. */
  const char* proc;
  const char* sys;
  const char* cgroup;
  /* An existing thread to probe with; on a live host, a thread of ctprof itself. */
  uint64_t sample_tgid;
  uint64_t sample_tid;
  /* The context that open_plugin created; NULL for a plugin without open_plugin, and in open_plugin
   * itself. */
  void* context CTPROF_TAIL;
  /* Of struct ctprof_setting: every option of the plugin with its value or default, in the order of
   * the plugin's table. */
  struct ctprof_array options CTPROF_TAIL;
};

/* States that a source can fill one metric. Several sources may offer the same metric if their
 * definitions agree; the core selects one of them for the whole column. */
struct ctprof_offer {
  const struct ctprof_metric* metric;
  /* The highest rank among the working offers is selected. Offers of ctprof have rank 0 for /proc,
   * 10 for taskstats, 20 for BPF. Use a rank above another only if your source is cheaper or more
   * exact. */
  int32_t rank CTPROF_OPTIONAL;
  uint32_t reserved CTPROF_OPTIONAL;
};

/* The kind of change that would make a metric available, which determines the meaning of `what`.
 * `ctprof doctor` prints these for people and programs to act on, so state a remedy only if it is
 * known to help. */
typedef uint32_t ctprof_remedy;
enum {
  /* no known remedy */
  CTPROF_REMEDY_NONE = 0,
  /* a command for a root shell, ready to paste: "sysctl -w kernel.sched_schedstats=1" */
  CTPROF_REMEDY_COMMAND = 1,
  /* capabilities that ctprof lacks, separated by commas: "cap_bpf,cap_perfmon" */
  CTPROF_REMEDY_CAPABILITIES = 2,
  /* parameters of the kernel's command line: "psi=1", "without nodelayacct" */
  CTPROF_REMEDY_BOOT = 3,
  /* another kernel: "CONFIG_SCHEDSTATS=y", "Linux 6.12 or newer" */
  CTPROF_REMEDY_KERNEL = 4
};

/* Receives the results of `probe`. An offer that is not refused is accepted, and its source is then
 * expected to fill the column.
 *
 * Refuse an offer for reasons that hold for the whole host: a missing kernel option or a missing
 * privilege. A reason that holds only for one row is a gap in that row. */
struct ctprof_probe {
  uint32_t size;
  uint32_t reserved;
  /* Passed to the functions below. */
  void* core;
  /* Refuses an offer, identified by its index in the source's table. The reason is a sentence
   * without a full stop and names the cause: "the kernel has no CONFIG_SCHED_INFO". The last of
   * several calls for one offer counts. */
  void (*refuse)(void* core, uint32_t offer, ctprof_gap gap, const char* reason,
                 size_t reason_size);
  /* Reports a remedy. For a refused offer, `lack` is empty and `what` states what would make the
   * metric available. For an accepted offer, `lack` states in a sentence which values remain gaps,
   * and `what` how to change that; it may be called several times. An older core does not have this
   * function and states a smaller `size`. */
  void (*remedy)(void* core, uint32_t offer, const char* lack, size_t lack_size, ctprof_remedy kind,
                 const char* what, size_t what_size);
};

#ifdef __cplusplus
}
#endif

#endif

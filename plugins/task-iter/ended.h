/* The records that the BPF program for exited threads writes and its reader reads. */
#ifndef CTPROF_TASK_ITER_ENDED_H
#define CTPROF_TASK_ITER_ENDED_H

#include "record.h"

enum ended_kind {
  ENDED_THREAD = 1, /* a thread's last record: struct ended_thread */
  ENDED_EXEC = 2,   /* a thread that was not the leader took its leader's place: struct ended_exec
                     */
  ENDED_CGROUP = 3, /* the name of a cgroup whose id is in a record: struct ended_cgroup */
  ENDED_BIRTH = 4,  /* a followed process, or one that descends from the command, was forked: struct
                     * ended_birth */
};

enum { ENDED_LEVELS = 16, ENDED_NAME = 128 };
/* Limit of processes that are followed at the same time. */
enum { ENDED_FOLLOWED = 1 << 18 };

struct ended_exec {
  unsigned int kind;
  unsigned int tgid;
  unsigned int tid;         /* before the exec */
  unsigned int of_followed; /* whether its process is a followed child */
  unsigned long long at_boottime;
};

struct ended_birth {
  unsigned int kind;
  unsigned int tgid;
  unsigned long long start_boottime;
};

/* The names from the cgroup up to the root, which has no name. If a name is longer, or the tree is
 * deeper, a name fills its buffer, or the last name is not empty. */
struct ended_cgroup {
  unsigned int kind;
  unsigned int unused;
  unsigned long long id;
  char names[ENDED_LEVELS][ENDED_NAME];
};

/* Without the set of CPUs. `state` and the times in progress are meaningless. */
struct ended_thread {
  unsigned int kind;
  unsigned int unused;
  unsigned long long maxrss; /* of the process, in pages; 0: unknown */
  char pcomm[RECORD_COMM];
  struct record task;
};

#define ENDED_THREAD_SIZE (sizeof(struct ended_thread) - (sizeof(struct record) - RECORD_FIXED))

#endif

/* What the program that sees threads end writes, and its reader reads. */
#ifndef CTPROF_TASK_ITER_ENDED_H
#define CTPROF_TASK_ITER_ENDED_H

#include "record.h"

enum ended_kind {
  ENDED_THREAD = 1, /* a thread's last record: struct ended_thread */
  ENDED_EXEC = 2,   /* a thread that was no leader took its leader's place: struct ended_exec */
  ENDED_CGROUP = 3, /* the name of a cgroup that a record names by its id: struct ended_cgroup */
  ENDED_BIRTH = 4,  /* a process was forked that descends from the command, or from processes whose
                       children are followed: struct ended_birth */
};

enum { ENDED_LEVELS = 16, ENDED_NAME = 128 };
/* Processes that are followed at a time. */
enum { ENDED_FOLLOWED = 1 << 18 };

struct ended_exec {
  unsigned int kind;
  unsigned int tgid;
  unsigned int tid;         /* until then */
  unsigned int of_followed; /* whether its process is a followed child */
  unsigned long long at_boottime;
};

struct ended_birth {
  unsigned int kind;
  unsigned int tgid;
  unsigned long long start_boottime;
};

/* From the cgroup up; the root has no name. Of one whose names are longer, or whose tree is deeper,
 * the last name is not empty, or one fills its room. */
struct ended_cgroup {
  unsigned int kind;
  unsigned int unused;
  unsigned long long id;
  char names[ENDED_LEVELS][ENDED_NAME];
};

/* Without the set of CPUs. `state` and what the thread was in the middle of mean nothing. */
struct ended_thread {
  unsigned int kind;
  unsigned int unused;
  unsigned long long maxrss; /* of the process, in pages; 0: not known */
  char pcomm[RECORD_COMM];
  struct record task;
};

#define ENDED_THREAD_SIZE (sizeof(struct ended_thread) - (sizeof(struct record) - RECORD_FIXED))

#endif

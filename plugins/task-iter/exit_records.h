/* The records that the BPF program for exited threads writes and its reader reads. */
#ifndef CTPROF_TASK_ITER_ENDED_H
#define CTPROF_TASK_ITER_ENDED_H

#include "record.h"

enum exit_record_kind {
  EXIT_RECORD_THREAD = 1, /* a thread's last record: struct exit_record_thread */
  EXIT_RECORD_EXEC =
      2, /* a thread that was not the leader took its leader's place: struct exit_record_exec
          */
  EXIT_RECORD_CGROUP =
      3, /* the name of a cgroup whose id is in a record: struct exit_record_cgroup */
  EXIT_RECORD_FORK = 4, /* a followed process, or one that descends from the command, was forked:
                         * struct exit_record_fork */
};

enum { EXIT_CGROUP_LEVELS = 16, EXIT_CGROUP_NAME_SIZE = 128 };
/* Limit of processes that are followed at the same time. */
enum { EXIT_MAX_FOLLOWED_PROCESSES = 1 << 18 };

struct exit_record_exec {
  unsigned int kind;
  unsigned int tgid;
  unsigned int tid;               /* before the exec */
  unsigned int is_followed_child; /* whether its process is a followed child */
  unsigned long long at_boottime;
};

struct exit_record_fork {
  unsigned int kind;
  unsigned int tgid;
  unsigned long long start_boottime;
};

/* The names from the cgroup up to the root, which has no name. If a name is longer, or the tree is
 * deeper, a name fills its buffer, or the last name is not empty. */
struct exit_record_cgroup {
  unsigned int kind;
  unsigned int unused;
  unsigned long long id;
  char names[EXIT_CGROUP_LEVELS][EXIT_CGROUP_NAME_SIZE];
};

/* Without the set of CPUs. `state` and the times in progress are meaningless. */
struct exit_record_thread {
  unsigned int kind;
  unsigned int unused;
  unsigned long long maxrss; /* of the process, in pages; 0: unknown */
  char pcomm[RECORD_COMM];
  struct record task;
};

#define EXIT_RECORD_THREAD_SIZE \
  (sizeof(struct exit_record_thread) - (sizeof(struct record) - RECORD_FIXED))

#endif

/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The state of a BPF program during a walk of a user stack, and the kernel structures that it
 * reads.
 *
 * See also: user_walk.bpf.h, which starts a walk.
 */
#ifndef CTPROF_SHARED_WALK_SCRATCH_BPF_H
#define CTPROF_SHARED_WALK_SCRATCH_BPF_H

#include "plugins/shared/kernel_types.h"
#include "plugins/shared/walk_state.h"
#include "plugins/shared/walk_tables.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* The structs have names of their own, because programs have other views of these structures. CO-RE
 * ignores the part of a name after three underscores. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
  __u32 s_dev;
};
struct inode {
  unsigned long i_ino;
  struct super_block* i_sb;
  long long i_size;
  __u32 i_generation;
};
struct inode___since_6_11 {
  __s64 i_ctime_sec;
  __u32 i_ctime_nsec;
};
struct timespec64 {
  __s64 tv_sec;
  long tv_nsec;
};
struct inode___since_6_6 {
  struct timespec64 __i_ctime;
};
struct inode___older {
  struct timespec64 i_ctime;
};
struct file {
  struct inode* f_inode;
};
struct mm_struct___walk;
struct vm_area_struct {
  unsigned long vm_start;
  unsigned long vm_end;
  struct mm_struct___walk* vm_mm;
  unsigned long vm_flags;
  unsigned long vm_pgoff;
  struct file* vm_file;
};
struct maple_tree {
  void* ma_root;
};
struct mm_struct___walk {
  struct maple_tree mm_mt;
  unsigned long start_code;
  struct {
    __u64 ctx_id;
    void* vdso;
  } context;
};
struct seqcount {
  unsigned int sequence;
};
struct mm_struct___since_6_14 {
  struct seqcount mm_lock_seq;
};
struct maple_range_64 {
  unsigned long pivot[15];
  void* slot[16];
};
struct maple_arange_64 {
  unsigned long pivot[9];
  void* slot[10];
};
struct pt_regs___walk {
  unsigned long bp;
  unsigned long ip;
  unsigned long cs;
  unsigned long sp;
};
struct task_struct___walk {
  struct mm_struct___walk* mm;
};

#pragma clang attribute pop

enum { WALK_WINDOW = 512, WALK_USER_PAGE = 4096 };
/* Work in units of the time for one frame: the work between two readings of the clock, and the work
 * of finding code. */
enum { WALK_WORK_PER_CLOCK_READ = 24, WALK_CODE_WORK = 8 };

/* A node of a maple tree, with the size of the largest node type. */
struct walk_node {
  __u64 parent;
  __u64 rest[31];
};

struct walk_scratch {
  struct walk walk;               /* first, because user_walk.h only has a pointer to this member */
  struct walk_code previous_code; /* the range before that of `walk` */
  __u64 mm;
  __u64 mm_id;        /* 0: ranges of this walk are not cached */
  __u64 start_ns;     /* start of the walk, in ns; 0: the clock was not read yet */
  __u64 mapping_tree; /* the root of the process's mappings; 0: not read yet */
  __u32 lock_sequence;
  __u32 has_miss;
  __u32 window_end;   /* words begin below this offset of the window; 0: there is no window */
  __u32 work_units;   /* since the last reading of the clock */
  __u64 word;         /* the last word that was read */
  __u64 code_word;    /* the last word of code that was read */
  __u64 window_start; /* address of the stack memory that was read ahead */
  __u64 window[WALK_WINDOW / 8];
  struct walk_node node;
  struct walk_miss miss;
  __u32 padding;
  __u32 tag; /* followed by `words` */
  __u64 words[WALK_MAX_FRAMES + 1];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct walk_scratch);
} walk_scratches SEC(".maps");

static __always_inline struct walk_scratch* walk_scratch(void) {
  __u32 zero = 0;
  return bpf_map_lookup_elem(&walk_scratches, &zero);
}

#endif

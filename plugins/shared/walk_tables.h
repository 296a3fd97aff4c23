/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Unwind tables as BPF programs read them: see walk_rules.bpf.h (reads) and walk_tables.hpp
 * (fills). The file that includes this defines __u32 and its kind.
 */
#ifndef CTPROF_SHARED_WALK_TABLES_H
#define CTPROF_SHARED_WALK_TABLES_H

enum {
  /* Rows of all tables, in pieces that are made as they are needed: 256 KiB each. */
  WALK_CHUNK_ROWS = 1 << 16,
  WALK_MOST_CHUNKS = 256,
  /* Pages of 64 KiB of code, rules and modules of all tables. */
  WALK_MOST_PAGES = 1 << 16,
  WALK_MOST_RULES = 1 << 17,
  WALK_MOST_MODULES = 4096,
  WALK_MOST_TABLES = 1 << 22, /* numbers of tables, in a frame */
  WALK_PAGE_BITS = 16
};

/* A file, as the kernel has it. One that is overwritten, or replaced under the same inode, is
 * another. All zero: the vDSO. */
struct walk_file {
  __u64 inode;
  __u64 size;
  __s64 changed_s; /* ctime */
  __u32 changed_ns;
  __u32 device; /* of its superblock */
  __u32 generation;
  __u32 unused;
};

struct walk_module {
  struct walk_file file; /* the one that it describes */
  __u64 page_base;       /* the number of its first page in the file */
  __u32 table;
  __u32 first_page;
  __u32 page_count;
  __u32 first_rule;
};

/* Rows of one page of code. */
struct walk_page {
  __u32 chunk;
  __u16 first, last; /* in the chunk */
};

/* What a program writes about a walk, as the raw data of a perf event: a word that says what it is,
 * and words of 64 bits. A sample that has a copy instead has registers there, whose first word of
 * 64 bits is a small number: its upper half is 0. */
enum walk_tag {
  WALK_STACK = 1 << 24,
  WALK_DEEP_STACK = 2 << 24, /* frames are missing at the root */
  WALK_MISS = 3 << 24,       /* a module without a table: a struct walk_miss */
  WALK_WORDS = (1 << 24) - 1 /* the number of words */
};
enum { WALK_MOST_FRAMES = 511 };

/* Code of a file that no table describes yet, and where it is mapped. */
struct walk_miss {
  struct walk_file file;
  __u64 start, end, offset;
};

#endif

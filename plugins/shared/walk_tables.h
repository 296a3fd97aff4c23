/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Unwind tables in the form that BPF programs read. walk_rules.bpf.h reads them, walk_tables.hpp
 * fills them. The file that includes this one defines __u32 and the other integer types.
 */
#ifndef CTPROF_SHARED_WALK_TABLES_H
#define CTPROF_SHARED_WALK_TABLES_H

enum {
  /* Rows of all tables, in chunks of 256 KiB that are created on demand. */
  WALK_CHUNK_ROWS = 1 << 16,
  WALK_MAX_CHUNKS = 256,
  /* Pages of 64 KiB of code, rules and modules of all tables. */
  WALK_MAX_PAGES = 1 << 16,
  WALK_MAX_RULES = 1 << 17,
  WALK_MAX_MODULES = 4096,
  /* Files that were found: those with a table, and those without one. */
  WALK_MAX_FILES = 2 * WALK_MAX_MODULES,
  WALK_MAX_TABLES = 1 << 22, /* numbers of tables in a frame */
  WALK_PAGE_BITS = 16
};

/* Identifies a file in the kernel. A file that is overwritten, or replaced under the same inode,
 * has a different identity. All zero: the vDSO. */
struct walk_file {
  __u64 inode;
  __u64 size;
  __s64 ctime_s; /* ctime */
  __u32 ctime_ns;
  __u32 device; /* of its superblock */
  __u32 generation;
  __u32 unused;
};

struct walk_module {
  struct walk_file file; /* the file that it describes */
  __u64 page_base;       /* the number of its first page in the file */
  __u32 table;
  __u32 first_page;
  __u32 page_count;
  __u32 first_rule;
};

/* The rows of one page of code. */
struct walk_page {
  __u32 chunk;
  __u16 first_row, last_row; /* indices in the chunk */
};

/* The output of a program about a walk, as the raw data of a perf event: a word with the type, then
 * 64-bit words. A sample that has a copy of the stack instead contains registers, whose first
 * 64-bit word is a small number, so its upper half is 0. */
enum walk_tag {
  WALK_STACK = 1 << 24,
  WALK_DEEP_STACK = 2 << 24,           /* frames are missing at the root */
  WALK_MISS = 3 << 24,                 /* a module without a table: a struct walk_miss */
  WALK_WORD_COUNT_MASK = (1 << 24) - 1 /* mask of the number of words */
};
enum { WALK_MAX_FRAMES = 511 };

/* Code of a file without a table, and its mapping. */
struct walk_miss {
  struct walk_file file;
  __u64 start, end, offset;
};

#endif

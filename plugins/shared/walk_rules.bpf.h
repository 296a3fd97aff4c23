/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Finds the unwind rule for a place in a module, in tables that the reader of a BPF program fills
 * in (walk_tables.hpp).
 */
#ifndef CTPROF_SHARED_WALK_RULES_BPF_H
#define CTPROF_SHARED_WALK_RULES_BPF_H

#include "ctprof/abi/unwind.h"
#include "plugins/shared/walk_scratch.bpf.h"

struct walk_chunk {
  struct ctprof_unwind_row rows[WALK_CHUNK_ROWS];
};
struct walk_chunk_map {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(struct walk_chunk));
  __uint(map_flags, BPF_F_MMAPABLE);
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, WALK_MAX_CHUNKS);
  __type(key, __u32);
  __array(values, struct walk_chunk_map);
} walk_chunks SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, WALK_MAX_RULES);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, __u32);
  __type(value, __u64); /* a struct ctprof_unwind_rule */
} walk_rules SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, WALK_MAX_PAGES);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, __u32);
  __type(value, struct walk_page);
} walk_pages SEC(".maps");
/* Indexed by number; 0 is none. They are written once, before their number is in `walk_files`. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, WALK_MAX_MODULES);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, __u32);
  __type(value, struct walk_module);
} walk_modules SEC(".maps");
/* The number of a file's module; 0: it has none, or was requested. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, WALK_MAX_FILES);
  __type(key, struct walk_file);
  __type(value, __u32);
} walk_files SEC(".maps");

/* A cache of rules, by place. All CPUs write it without a lock. `checksum` is the place XOR the
 * rule, so an entry that two CPUs wrote at the same time matches no place. */
struct walk_known_rule {
  __u64 checksum;
  __u64 rule;
};
enum { WALK_KNOWN_RULES = 16384, WALK_KNOWN_BITS = 14 };
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, WALK_KNOWN_RULES);
  __type(key, __u32);
  __type(value, struct walk_known_rule);
} walk_known_rules SEC(".maps");

/* Returns the rule of the last row of the page that is not above `key`. No branch depends on the
 * rows, because half of such branches would be mispredicted. */
static __always_inline __u32 walk_search_page(struct walk_chunk* chunk, struct walk_page* page,
                                              __u16 key) {
  __u32 low = page->first_row, count = (__u32)page->last_row + 1 - low;
  for (int i = 0; i < WALK_PAGE_BITS && count > 1; ++i) {
    const __u32 half = count >> 1;
    const __s64 less = (__s64)key - chunk->rows[(low + half) & (WALK_CHUNK_ROWS - 1)].place;
    low += half & ~(__u32)(less >> 63);
    count -= half;
  }
  return chunk->rows[low & (WALK_CHUNK_ROWS - 1)].rule;
}

/* Returns the number of a rule in its table; UINT32_MAX: no table has the page. */
static __always_inline __u32 walk_find_rule_number(__u32 page_number, __u16 key) {
  struct walk_page* page = bpf_map_lookup_elem(&walk_pages, &page_number);
  if (!page) return ~0u;
  __u32 number = page->chunk, zero = 0;
  void* inner = bpf_map_lookup_elem(&walk_chunks, &number);
  if (!inner) return ~0u;
  struct walk_chunk* chunk = bpf_map_lookup_elem(inner, &zero);
  return chunk ? walk_search_page(chunk, page, key) : ~0u;
}

/* Returns the rule in its page, as a number, because a global function returns no struct. `id` is
 * that of the place. */
__attribute__((noinline)) __u64 walk_look_up_rule(__u64 id, __u32 first_rule) {
  const __u64 unknown = CTPROF_UNWIND_UNKNOWN; /* the first byte is the kind */
  __u32 slot = (id * 0x9e3779b97f4a7c15ull) >> (64 - WALK_KNOWN_BITS);
  struct walk_known_rule* known = bpf_map_lookup_elem(&walk_known_rules, &slot);
  const __u32 rule_number = walk_find_rule_number(id >> WALK_PAGE_BITS, id);
  if (rule_number == ~0u) return unknown;
  __u32 index = first_rule + rule_number;
  __u64* rule = bpf_map_lookup_elem(&walk_rules, &index);
  if (!rule) return unknown;
  const __u64 rule_value = *rule;
  if (known) {
    known->rule = rule_value;
    known->checksum = ~id ^ rule_value;
  }
  return rule_value;
}

/* Returns the rule for a place in the current module of the walk, as a number. */
static __always_inline __u64 walk_find_rule_value(struct walk_scratch* scratch, __u64 place) {
  const struct walk_code* code = &scratch->walk.code;
  const __u64 page = (place >> WALK_PAGE_BITS) - code->page_base;
  if (page >= code->page_count) return CTPROF_UNWIND_NONE;
  const __u64 id = (code->first_page + page) << WALK_PAGE_BITS | (__u16)place;
  __u32 slot = (id * 0x9e3779b97f4a7c15ull) >> (64 - WALK_KNOWN_BITS);
  struct walk_known_rule* known = bpf_map_lookup_elem(&walk_known_rules, &slot);
  if (known) {
    const __u64 rule = known->rule;
    if ((known->checksum ^ rule) == ~id) return rule;
  }
  ++scratch->work_units;
  return walk_look_up_rule(id, code->first_rule);
}

#endif

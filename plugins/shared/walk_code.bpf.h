/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Finds the code that a process has mapped at an address, and the module of that code.
 *
 * Mappings are read without the lock of the process's memory. Nodes of the tree and files are freed
 * only after an RCU grace period, which the program delays. The memory of a mapping may be reused
 * for another mapping, even of another process. Therefore a mapping is read again after its file
 * was identified: it must still belong to this process and be unchanged. Otherwise the walk gives
 * up.
 *
 * bpf_find_vma() is no alternative: with interrupts disabled it defers unlocking to one work item
 * per CPU, so it finds one mapping per interrupt and fails for the next one.
 */
#ifndef CTPROF_SHARED_WALK_CODE_BPF_H
#define CTPROF_SHARED_WALK_CODE_BPF_H

#include "plugins/shared/walk_rules.bpf.h"

enum { WALK_MAPPED_EXECUTABLE = 4 };                      /* VM_EXEC */
enum { WALK_LEAF = 1, WALK_RANGE = 2, WALK_ARRANGE = 3 }; /* enum maple_type */
enum { WALK_ROOT_NODE = 2, WALK_ROOT_MASK = 3 };
enum { WALK_TREE_DEPTH = 6, WALK_RANGE_SLOTS = 16, WALK_ARRANGE_SLOTS = 10 };
/* The highest bit of the file's ctime nanoseconds is a flag of the kernel. */
enum { WALK_NANOSECONDS = 0x7fffffff };

/* Incremented at each drain of the reader; cached ranges of older epochs are invalid. */
__u32 walk_epoch = 0;

/* A cache of code ranges; each CPU has its own. A range is valid as long as the mappings of its
 * process are unchanged. Each change is made with the mmap lock held for writing, and mm_lock_seq
 * counts when that lock is taken and released (Linux 6.14); it is odd while the lock is held. A
 * range is cached only if the count was even and equal before and after its mapping was read, and
 * is used only while the count has this value. The id of an address space is never reused. A change
 * of a mapped file in place is detected after the next drain of the reader. */
struct walk_known_range {
  __u64 mm_id;
  __u32 lock_sequence, epoch;
  struct walk_code code;
};
enum { WALK_KNOWN_RANGES = 512, WALK_KNOWN_RANGE_BITS = 9 };
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, WALK_KNOWN_RANGES);
  __type(key, __u32);
  __type(value, struct walk_known_range);
} walk_known_ranges SEC(".maps");

/* Returns an odd number if the sequence is unknown. */
static __always_inline __u32 walk_lock_sequence(struct mm_struct___walk* mm) {
  struct mm_struct___since_6_14* memory = (void*)mm;
  __u32 sequence = 1;
  if (bpf_core_field_exists(memory->mm_lock_seq.sequence))
    bpf_core_read(&sequence, sizeof sequence, &memory->mm_lock_seq.sequence);
  return sequence;
}

/* Returns the slot of the node that leads to the address; `count` is the number of slots of the
 * node.
 */
static __always_inline __u32 walk_find_slot(const struct walk_node* node, __u64 address,
                                            __u32 count) {
  __u32 i = 0;
  for (; i < WALK_RANGE_SLOTS - 1; ++i) {
    if (i >= count - 1) break;
    const __u64 pivot = node->rest[i];
    if (pivot == 0 || address <= pivot) break;
  }
  return i;
}

/* Returns the mapping that may contain an address; 0: none. */
__attribute__((noinline)) __u64 walk_find_mapping(struct walk_scratch* scratch, __u64 address) {
  struct maple_range_64* range = 0;
  struct maple_arange_64* arranged = 0;
  if (bpf_core_field_size(range->pivot) != 8 * (WALK_RANGE_SLOTS - 1)) return 0;
  if (bpf_core_field_size(arranged->pivot) != 8 * (WALK_ARRANGE_SLOTS - 1)) return 0;
  if (!scratch) return 0;
  __u64 entry = scratch->mapping_tree;
  if (entry == 0) {
    struct mm_struct___walk* mm = (void*)scratch->mm;
    bpf_core_read(&entry, sizeof entry, &mm->mm_mt.ma_root);
    scratch->mapping_tree = entry;
  }
  if ((entry & WALK_ROOT_MASK) != WALK_ROOT_NODE) return 0; /* a single mapping, or none */
  for (int depth = 0; depth < WALK_TREE_DEPTH; ++depth) {
    if (entry <= WALK_USER_PAGE) return 0;
    const __u32 type = (entry >> 3) & 15;
    struct walk_node* node = &scratch->node;
    if (bpf_probe_read_kernel(node, sizeof *node, (void*)(entry & ~255ull)) != 0) return 0;
    if (type == WALK_ARRANGE) {
      const __u32 slot = walk_find_slot(node, address, WALK_ARRANGE_SLOTS);
      entry = node->rest[(WALK_ARRANGE_SLOTS - 1 + slot) & 31];
    } else {
      const __u32 slot = walk_find_slot(node, address, WALK_RANGE_SLOTS);
      entry = node->rest[(WALK_RANGE_SLOTS - 1 + slot) & 31];
    }
    if (type == WALK_LEAF) return entry;
    if (type != WALK_RANGE && type != WALK_ARRANGE) return 0;
  }
  return 0;
}

/* The fields of a mapping that are read. */
struct walk_mapping {
  __u64 start, end, mm, flags, offset, file;
};

static __always_inline int walk_read_mapping(struct walk_mapping* fields, __u64 mapping) {
  struct vm_area_struct* from = (void*)mapping;
  __u64 page = 0;
  const int failed =
      bpf_core_read(&fields->start, 8, &from->vm_start) |
      bpf_core_read(&fields->end, 8, &from->vm_end) | bpf_core_read(&fields->mm, 8, &from->vm_mm) |
      bpf_core_read(&fields->flags, 8, &from->vm_flags) | bpf_core_read(&page, 8, &from->vm_pgoff) |
      bpf_core_read(&fields->file, 8, &from->vm_file);
  fields->offset = page * WALK_USER_PAGE;
  return failed == 0;
}

static __always_inline void walk_read_ctime(struct walk_file* file, struct inode* inode) {
  struct inode___since_6_11* since_6_11 = (void*)inode;
  struct inode___since_6_6* since_6_6 = (void*)inode;
  struct inode___older* older = (void*)inode;
  __u64 nanoseconds = 0;
  if (bpf_core_field_exists(since_6_11->i_ctime_sec)) {
    bpf_core_read(&file->ctime_s, sizeof file->ctime_s, &since_6_11->i_ctime_sec);
    bpf_core_read(&file->ctime_ns, sizeof file->ctime_ns, &since_6_11->i_ctime_nsec);
    file->ctime_ns &= WALK_NANOSECONDS;
    return;
  }
  if (bpf_core_field_exists(since_6_6->__i_ctime)) {
    bpf_core_read(&file->ctime_s, sizeof file->ctime_s, &since_6_6->__i_ctime.tv_sec);
    bpf_core_read(&nanoseconds, sizeof nanoseconds, &since_6_6->__i_ctime.tv_nsec);
  } else {
    bpf_core_read(&file->ctime_s, sizeof file->ctime_s, &older->i_ctime.tv_sec);
    bpf_core_read(&nanoseconds, sizeof nanoseconds, &older->i_ctime.tv_nsec);
  }
  file->ctime_ns = nanoseconds;
}

static __always_inline void walk_read_file(struct walk_file* file_key, __u64 file) {
  struct file* from = (void*)file;
  struct inode* inode = 0;
  struct super_block* super = 0;
  bpf_core_read(&inode, sizeof inode, &from->f_inode);
  bpf_core_read(&file_key->inode, sizeof file_key->inode, &inode->i_ino);
  bpf_core_read(&file_key->size, sizeof file_key->size, &inode->i_size);
  bpf_core_read(&file_key->generation, sizeof file_key->generation, &inode->i_generation);
  bpf_core_read(&super, sizeof super, &inode->i_sb);
  bpf_core_read(&file_key->device, sizeof file_key->device, &super->s_dev);
  walk_read_ctime(file_key, inode);
}

/* Walks that found a file for which `walk_files` has no space. */
__u64 walk_unlisted_walks = 0;
enum { WALK_MAP_IS_FULL = -7 }; /* -E2BIG */

/* Adds a file to those that the reader makes tables of. */
static __always_inline int walk_list_file(const struct walk_file* file) {
  const __u32 no_module = 0;
  const long error = bpf_map_update_elem(&walk_files, file, &no_module, BPF_NOEXIST);
  if (error == WALK_MAP_IS_FULL) __sync_fetch_and_add(&walk_unlisted_walks, 1);
  return error == 0;
}

/* Returns the module of a file, or null if it has none yet. Then it requests the module from the
 * reader, unless an earlier walk has done so. The vDSO, whose key is all zero, is never requested:
 * the reader adds it without a request, and an entry of a walk could replace the reader's. */
static __always_inline struct walk_module* walk_find_module(struct walk_scratch* scratch,
                                                            const struct walk_mapping* mapping,
                                                            struct walk_file* file) {
  __u32* number = bpf_map_lookup_elem(&walk_files, file);
  if (!number) {
    if (mapping->file == 0) return 0;
    if (!walk_list_file(file)) return 0;
    scratch->miss.file = *file;
    scratch->miss.start = mapping->start;
    scratch->miss.end = mapping->end;
    scratch->miss.offset = mapping->offset;
    scratch->has_miss = 1;
    return 0;
  }
  __u32 index = *number;
  struct walk_module* module = index != 0 ? bpf_map_lookup_elem(&walk_modules, &index) : 0;
  /* The kernel may reuse an entry of the map of files for another file while it is read. */
  if (!module || module->file.inode != file->inode || module->file.device != file->device ||
      module->file.ctime_s != file->ctime_s || module->file.ctime_ns != file->ctime_ns ||
      module->file.size != file->size || module->file.generation != file->generation)
    return 0;
  return module;
}

/* Returns whether memory of no file may be a copy of a part of a file, as programs create it to use
 * huge pages: code of a file is directly before it. Then frame pointers are not followed. */
static __always_inline int walk_may_be_copied_code(struct walk_scratch* scratch, __u64 start) {
  struct walk_mapping previous = {};
  const __u64 mapping = walk_find_mapping(scratch, start - 1);
  return mapping != 0 && walk_read_mapping(&previous, mapping) && previous.mm == scratch->mm &&
         previous.end == start && previous.file != 0 &&
         (previous.flags & WALK_MAPPED_EXECUTABLE) != 0;
}

/* Finds the module of a mapping, and fills in `code`. Returns 0 if the module has no table. */
static __always_inline int walk_identify(struct walk_scratch* scratch,
                                         const struct walk_mapping* mapping) {
  struct walk_file file = {};
  struct walk_code* code = &scratch->walk.code;
  __u64 vdso = 0;
  code->table = code->first_page = code->page_count = code->first_rule = 0;
  code->page_base = code->address_shift = 0;
  if (mapping->file != 0) {
    walk_read_file(&file, mapping->file);
  } else {
    struct mm_struct___walk* mm = (void*)scratch->mm;
    bpf_core_read(&vdso, sizeof vdso, &mm->context.vdso);
    if (vdso != mapping->start) /* code of no file */
      return !walk_may_be_copied_code(scratch, mapping->start);
  }
  struct walk_module* module = walk_find_module(scratch, mapping, &file);
  if (!module) return 0;
  code->table = module->table;
  code->first_page = module->first_page;
  code->page_count = module->page_count;
  code->first_rule = module->first_rule;
  code->page_base = module->page_base;
  code->address_shift = mapping->start - (mapping->file != 0 ? mapping->offset : 0);
  return 1;
}

static __always_inline int walk_is_same_mapping(const struct walk_mapping* a,
                                                const struct walk_mapping* b) {
  return a->start == b->start && a->end == b->end && a->mm == b->mm && a->flags == b->flags &&
         a->offset == b->offset && a->file == b->file;
}

static __always_inline int walk_look_up_code(struct walk_scratch* scratch, __u64 address) {
  struct walk_mapping mapping_fields = {}, reread = {};
  struct walk_code* code = &scratch->walk.code;
  const __u64 mapping = walk_find_mapping(scratch, address);
  scratch->walk.reason = WALK_NO_CODE;
  if (mapping == 0 || !walk_read_mapping(&mapping_fields, mapping)) return 0;
  if (mapping_fields.mm != scratch->mm || address < mapping_fields.start ||
      address >= mapping_fields.end)
    return 0;
  if ((mapping_fields.flags & WALK_MAPPED_EXECUTABLE) == 0) return 0;
  const int is_known = walk_identify(scratch, &mapping_fields);
  if (!walk_read_mapping(&reread, mapping) || !walk_is_same_mapping(&mapping_fields, &reread)) {
    if (scratch->has_miss) bpf_map_delete_elem(&walk_files, &scratch->miss.file);
    scratch->has_miss = 0;
    scratch->walk.reason = WALK_CHANGED;
    return 0;
  }
  code->start = mapping_fields.start;
  code->end = mapping_fields.end;
  scratch->walk.reason = WALK_NO_TABLE; /* applies only if the module is unknown */
  return is_known;
}

/* Looks up the code in the cache entry. Returns 0 if the entry is for other code. */
static __always_inline int walk_use_cached_code(struct walk_scratch* scratch, __u64 address,
                                                const struct walk_known_range* known) {
  if (known->mm_id != scratch->mm_id || known->epoch != walk_epoch ||
      known->lock_sequence != scratch->lock_sequence || address < known->code.start ||
      address >= known->code.end)
    return 0;
  scratch->walk.code = known->code;
  return 1;
}

/* Fills in `code` with the range that contains an address. Returns 0 on failure. Stacks alternate
 * between a program and a library, so the range before the last one is tried first. */
__attribute__((noinline)) int walk_find_code_range(struct walk_scratch* scratch, __u64 address) {
  if (!scratch) return 0;
  const struct walk_code last = scratch->walk.code;
  const struct walk_code* before = &scratch->previous_code;
  if (address - before->start < before->end - before->start) {
    scratch->walk.code = *before;
    scratch->previous_code = last;
    return 1;
  }
  scratch->previous_code = last;
  __u32 slot = ((address >> WALK_PAGE_BITS) * 0x9e3779b97f4a7c15ull +
                scratch->mm_id * 0xc2b2ae3d27d4eb4full) >>
               (64 - WALK_KNOWN_RANGE_BITS);
  struct walk_known_range* known =
      scratch->mm_id != 0 ? bpf_map_lookup_elem(&walk_known_ranges, &slot) : 0;
  if (known && walk_use_cached_code(scratch, address, known)) return 1;
  scratch->work_units += WALK_CODE_WORK;
  if (!walk_look_up_code(scratch, address)) {
    scratch->walk.code.start = scratch->walk.code.end = 0;
    return 0;
  }
  if (known && walk_lock_sequence((void*)scratch->mm) == scratch->lock_sequence) {
    known->mm_id = scratch->mm_id;
    known->epoch = walk_epoch;
    known->lock_sequence = scratch->lock_sequence;
    known->code = scratch->walk.code;
  }
  return 1;
}

#endif

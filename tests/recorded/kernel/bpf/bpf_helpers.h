/* Replaces libbpf's header for BPF programs that are compiled for the host and run in a test.
 * Declares the helpers that the programs call; the simulated kernel defines them.
 */
#ifndef CTPROF_RECORDED_BPF_HELPERS_H
#define CTPROF_RECORDED_BPF_HELPERS_H

#define SEC(name)
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))
#define __uint(name, value) int(*name)[value]
#define __type(name, value) __typeof__(value)* name
#define barrier() __asm__ volatile("" ::: "memory")

void* bpf_map_lookup_elem(void* map, const void* key);
long bpf_map_update_elem(void* map, const void* key, const void* value, __u64 flags);
long bpf_map_delete_elem(void* map, const void* key);
void* bpf_task_storage_get(void* map, struct task_struct* task, void* value, __u64 flags);
void* bpf_ringbuf_reserve(void* map, __u64 size, __u64 flags);
void bpf_ringbuf_submit(void* record, __u64 flags);
long bpf_seq_write(struct seq_file* file, const void* data, __u32 size);
long bpf_get_stack(void* context, void* buffer, __u32 size, __u64 flags);
long bpf_get_task_stack(struct task_struct* task, void* buffer, __u32 size, __u64 flags);
long bpf_task_pt_regs(struct task_struct* task);
struct task_struct* bpf_get_current_task_btf(void);
__u64 bpf_get_current_task(void);
long bpf_probe_read_kernel(void* to, __u32 size, const void* from);
long bpf_probe_read_user(void* to, __u32 size, const void* from);
__u64 bpf_ktime_get_ns(void);
__u32 bpf_get_prandom_u32(void);

#endif

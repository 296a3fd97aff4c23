/* Replaces libbpf's header for BPF programs that are compiled for the host. The kernel structures
 * are exactly those that the programs declare.
 */
#ifndef CTPROF_RECORDED_BPF_CORE_READ_H
#define CTPROF_RECORDED_BPF_CORE_READ_H

#define CORE_READ_1(from, a) ((from)->a)
#define CORE_READ_2(from, a, b) ((from)->a->b)
#define CORE_READ_3(from, a, b, c) ((from)->a->b->c)
#define CORE_READ_OF(_1, _2, _3, name, ...) name
#define BPF_CORE_READ(from, ...) \
  CORE_READ_OF(__VA_ARGS__, CORE_READ_3, CORE_READ_2, CORE_READ_1, none)(from, __VA_ARGS__)

#define bpf_core_field_exists(field) (sizeof(field) != 0)
#define bpf_core_type_size(type) sizeof(type)
#define bpf_core_read(to, size, from) ((void)__builtin_memcpy(to, from, size))

#endif

// Reads and writes elements of BPF maps by the system call, for plugins that do not link libbpf.
//
// Threads: any.

#pragma once

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace ctprof {

// Calls bpf(2). Returns -1, and sets errno, on failure.
inline long call_bpf(int command, bpf_attr& attributes) {
  return ::syscall(SYS_bpf, command, &attributes, sizeof attributes);
}

// Returns the arguments of commands on one element. `value` may be null.
inline bpf_attr map_element_attributes(int map, const void* key, const void* value) {
  bpf_attr attributes{};
  attributes.map_fd = static_cast<std::uint32_t>(map);
  attributes.key = reinterpret_cast<std::uintptr_t>(key);
  attributes.value = reinterpret_cast<std::uintptr_t>(value);
  attributes.flags = BPF_ANY;
  return attributes;
}

// Returns false, and sets errno, if the map is full, or the descriptor is not that of a map.
inline bool update_map(int map, const void* key, const void* value) {
  bpf_attr attributes = map_element_attributes(map, key, value);
  return call_bpf(BPF_MAP_UPDATE_ELEM, attributes) == 0;
}

// Returns false, and sets errno, if there is no such element.
inline bool look_up_in_map(int map, const void* key, void* value) {
  bpf_attr attributes = map_element_attributes(map, key, value);
  return call_bpf(BPF_MAP_LOOKUP_ELEM, attributes) == 0;
}
inline bool remove_from_map(int map, const void* key) {
  bpf_attr attributes = map_element_attributes(map, key, nullptr);
  return call_bpf(BPF_MAP_DELETE_ELEM, attributes) == 0;
}

}  // namespace ctprof

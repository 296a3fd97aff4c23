// Writes unwind tables into the maps of a BPF program that walks user stacks (walk_rules.bpf.h).
//
//   auto tables = WalkTables::open(maps);
//   while (records.next_table(table)) tables->add(table, file);
//
// A table is written once and never changes. Its file is entered last, so a program sees the whole
// table or none. Tables that do not fit are refused, and programs copy stacks that need them.
//
// Threads: one at a time.

#pragma once

#include <linux/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ctprof/abi/unwind.h"
#include "ctprof/files.hpp"
#include "plugins/shared/walk_tables.h"

namespace ctprof {

// Device numbers as the kernel encodes them internally, and in a walk_file.
inline constexpr unsigned kDeviceMinorBits = 20;
inline std::uint32_t walk_device(std::uint32_t major, std::uint32_t minor) {
  return major << kDeviceMinorBits | minor;
}
inline std::uint32_t major_of(std::uint32_t walk_device) { return walk_device >> kDeviceMinorBits; }
inline std::uint32_t minor_of(std::uint32_t walk_device) {
  return walk_device & ((1u << kDeviceMinorBits) - 1);
}

class WalkTables {
 public:
  // Descriptors of maps, which outlive this object.
  struct Maps {
    int chunks = -1, rules = -1, pages = -1, modules = -1, files = -1;
  };

  // Returns null, and sets `error` to an errno, if the maps cannot be written.
  static std::unique_ptr<WalkTables> open(const Maps& maps, int& error);
  virtual ~WalkTables();
  WalkTables(const WalkTables&) = delete;
  WalkTables& operator=(const WalkTables&) = delete;

  // Adds the rules of a file. Returns false if they do not fit.
  virtual bool add(const ctprof_unwind_table& table, const walk_file& file);
  // Makes programs request the file again when a stack leads into it. REQUIRES: it has no table.
  virtual void remove_file(const walk_file& file);
  // Returns the kernel memory that the tables use.
  std::size_t bytes() const;

 protected:
  // Creates an object without maps, for tests that override the methods.
  WalkTables() = default;

 private:
  // Memory that is shared with the kernel.
  struct Mapping {
    void* address = nullptr;
    std::size_t bytes = 0;
  };

  explicit WalkTables(const Maps& maps) : maps_(maps) {}
  static bool map_memory(int fd, std::size_t bytes, Mapping& mapped);
  bool has_capacity(const ctprof_unwind_table& table) const;
  bool add_chunk();
  bool add_page(const ctprof_unwind_table& table, const ctprof_unwind_page& page);

  Maps maps_;
  Mapping rules_, pages_, modules_;
  std::vector<sdk::Fd> chunk_maps_;
  std::vector<Mapping> chunks_;
  std::size_t rows_in_last_chunk_ = 0;
  std::uint32_t rules_count_ = 0, pages_count_ = 0, modules_count_ = 1;  // module 0 means none
};

}  // namespace ctprof

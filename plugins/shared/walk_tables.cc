#include "plugins/shared/walk_tables.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ctprof/abi.h"
#include "plugins/shared/bpf_map.hpp"
#include "plugins/shared/walk_state.h"

namespace ctprof {
namespace {

constexpr std::size_t kChunkBytes = WALK_CHUNK_ROWS * sizeof(ctprof_unwind_row);

int create_chunk() {
  bpf_attr attributes{};
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = sizeof(std::uint32_t);
  attributes.value_size = kChunkBytes;
  attributes.max_entries = 1;
  attributes.map_flags = BPF_F_MMAPABLE;
  return static_cast<int>(call_bpf(BPF_MAP_CREATE, attributes));
}

// Programs encode frames with their own copies of these constants.
static_assert(WALK_FRAME_ADDRESS == CTPROF_FRAME_ADDRESS);
static_assert(WALK_FRAME_GUESSED == CTPROF_FRAME_GUESSED);
static_assert(int{WALK_FRAME_TABLE_SHIFT} == int{CTPROF_FRAME_TABLE_SHIFT});
// The number of a table is below the two flag bits.
static_assert(std::uint64_t{WALK_MAX_TABLES} << WALK_FRAME_TABLE_SHIFT == WALK_FRAME_GUESSED);

template <class Item>
void store_item(void* array, std::size_t index, const Item& item) {
  std::memcpy(static_cast<std::byte*>(array) + index * sizeof item, &item, sizeof item);
}

}  // namespace

// Maps whole pages, as the kernel requires.
bool WalkTables::map_memory(int fd, std::size_t bytes, Mapping& mapped) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t page_aligned_bytes = (bytes + page - 1) / page * page;
  void* address = ::mmap(nullptr, page_aligned_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) return false;
  mapped = {address, page_aligned_bytes};
  return true;
}

std::unique_ptr<WalkTables> WalkTables::open(const Maps& maps, int& error) {
  std::unique_ptr<WalkTables> tables(new WalkTables(maps));
  const bool is_open =
      map_memory(maps.rules, WALK_MAX_RULES * sizeof(ctprof_unwind_rule), tables->rules_) &&
      map_memory(maps.pages, WALK_MAX_PAGES * sizeof(walk_page), tables->pages_) &&
      map_memory(maps.modules, WALK_MAX_MODULES * sizeof(walk_module), tables->modules_);
  error = is_open ? 0 : errno;
  return is_open ? std::move(tables) : nullptr;
}

WalkTables::~WalkTables() {
  for (const Mapping& mapped : {rules_, pages_, modules_})
    if (mapped.address) ::munmap(mapped.address, mapped.bytes);
  for (const Mapping& chunk : chunks_) ::munmap(chunk.address, chunk.bytes);
}

bool WalkTables::has_capacity(const ctprof_unwind_table& table) const {
  return modules_count_ < WALK_MAX_MODULES && table.number < WALK_MAX_TABLES &&
         table.rules_count <= WALK_MAX_RULES - rules_count_ &&
         table.pages_count <= WALK_MAX_PAGES - pages_count_;
}

bool WalkTables::add_chunk() {
  if (chunks_.size() == WALK_MAX_CHUNKS) return false;
  sdk::Fd fd(create_chunk());
  const auto number = static_cast<std::uint32_t>(chunks_.size());
  const std::uint32_t value = fd ? static_cast<std::uint32_t>(fd.get()) : 0;
  Mapping mapped;
  if (!fd || !map_memory(fd.get(), kChunkBytes, mapped)) return false;
  if (!update_map(maps_.chunks, &number, &value))
    return ::munmap(mapped.address, mapped.bytes), false;
  chunk_maps_.push_back(std::move(fd));
  chunks_.push_back(mapped);
  rows_in_last_chunk_ = 0;
  return true;
}

// Adds a page. The rows of a page are in one chunk.
bool WalkTables::add_page(const ctprof_unwind_table& table, const ctprof_unwind_page& page) {
  if (page.rows_count == 0 || page.rows_count > WALK_CHUNK_ROWS) return false;
  const bool fits = !chunks_.empty() && rows_in_last_chunk_ + page.rows_count <= WALK_CHUNK_ROWS;
  if (!fits && !add_chunk()) return false;
  std::memcpy(static_cast<ctprof_unwind_row*>(chunks_.back().address) + rows_in_last_chunk_,
              table.rows + page.first_row, page.rows_count * sizeof(ctprof_unwind_row));
  walk_page entry{};
  entry.chunk = static_cast<std::uint32_t>(chunks_.size() - 1);
  entry.first_row = static_cast<std::uint16_t>(rows_in_last_chunk_);
  entry.last_row = static_cast<std::uint16_t>(rows_in_last_chunk_ + page.rows_count - 1);
  store_item(pages_.address, pages_count_++, entry);
  rows_in_last_chunk_ += page.rows_count;
  return true;
}

bool WalkTables::add(const ctprof_unwind_table& table, const walk_file& file) {
  if (!has_capacity(table)) return false;
  walk_module module{};
  module.file = file;
  module.page_base = table.first_page;
  module.table = table.number;
  module.first_page = pages_count_;
  module.page_count = table.pages_count;
  module.first_rule = rules_count_;
  for (std::uint32_t i = 0; i < table.pages_count; ++i)
    if (!add_page(table, table.pages[i])) return false;
  for (std::uint32_t i = 0; i < table.rules_count; ++i)
    store_item(rules_.address, rules_count_++, table.rules[i]);
  const std::uint32_t number = modules_count_++;
  store_item(modules_.address, number, module);
  return update_map(maps_.files, &file, &number);
}

void WalkTables::remove_file(const walk_file& file) { remove_from_map(maps_.files, &file); }

std::size_t WalkTables::bytes() const {
  std::size_t bytes = rules_.bytes + pages_.bytes + modules_.bytes;
  for (const Mapping& chunk : chunks_) bytes += chunk.bytes;
  return bytes;
}

}  // namespace ctprof

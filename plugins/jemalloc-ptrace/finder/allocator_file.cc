#include "plugins/jemalloc-ptrace/finder/allocator_file.hpp"

#include "plugins/jemalloc-ptrace/finder/elf_symbols.hpp"
#include "plugins/jemalloc-ptrace/finder/stripped_program.hpp"
#include "plugins/jemalloc-ptrace/finder/tsd_code.hpp"

namespace ctprof::jemalloc {
namespace {

// jemalloc's variable is more than twice as large in every version; the thread-local data of most
// programs is smaller.
constexpr std::uint64_t kMinTlsBytes = 256;

// The size of code to follow in a function whose symbol has no size.
constexpr std::uint64_t kDefaultFunctionBytes = 512;

// The prefix of jemalloc's messages to users.
constexpr const char* kMessagePrefix = "<jemalloc>: ";

class FileAnalysis {
 public:
  explicit FileAnalysis(const ElfFile& file)
      : file_(file),
        is_program_(file.is_program()),
        dynamic_symbols_(read_dynamic_symbols(file)),
        cache_offset_(read_empty_cache(file)) {
    if (!is_program_) slots_ = read_tls_slots(file);
  }

  FileResult analyze(const DebugFilesQuery& query) {
    bool is_jemalloc = dynamic_symbols_.has_mallctl || dynamic_symbols_.tsd_offset || cache_offset_;
    auto layout = is_jemalloc || is_program_ ? find_by_code(dynamic_symbols_) : std::nullopt;
    if (!layout && is_program_) {
      static_symbols_ = read_static_symbols(file_);
      is_jemalloc = is_jemalloc || static_symbols_.has_mallctl || static_symbols_.tsd_offset;
      if (is_jemalloc) layout = find_by_code(static_symbols_);
    }
    if (!is_jemalloc) return layout ? analyze_exported(*layout) : analyze_stripped();
    if (!is_program_ && slots_.slots.empty() && slots_.uses_module_numbers)
      return {.status = FindStatus::DynamicTls};
    if (!layout) layout = find_in_debug_files(query);
    if (!layout) layout = find_by_version();
    if (!layout && is_program_) layout = find_by_all_code(TsdImage(file_));
    return layout ? make_found_result(*layout)
                  : FileResult{.status = FindStatus::DwarfParseFailure};
  }

 private:
  FileResult make_found_result(const Layout& layout) const {
    const Elf64_Phdr* first = file_.segment(PT_LOAD);
    if (first == nullptr) return {};
    return {FindStatus::Found, layout, first->p_vaddr, first->p_offset};
  }

  // Requires jemalloc's messages, because a malloc and a free that add to counters need not be
  // jemalloc's.
  FileResult analyze_exported(const Layout& layout) const {
    return has_constant(file_, kMessagePrefix) ? make_found_result(layout) : FileResult{};
  }

  // Without any name, jemalloc is identified by the start of its segment, and by its messages.
  FileResult analyze_stripped() const {
    if (!is_program_) return {};
    const TsdImage image(file_);
    if (!image.may_be_jemalloc() || !has_constant(file_, kMessagePrefix)) return {};
    const auto layout = find_by_all_code(image);
    return layout ? make_found_result(*layout)
                  : FileResult{.status = FindStatus::DwarfParseFailure};
  }

  std::optional<Layout> find_by_all_code(const TsdImage& image) const {
    const auto start = find_program_start();
    const auto places = start ? find_counters_in_stripped(file_, image, *start) : std::nullopt;
    return places ? make_layout_at_places(*places) : std::nullopt;
  }

  std::optional<std::uint64_t> tsd_symbol() const {
    return dynamic_symbols_.tsd_offset ? dynamic_symbols_.tsd_offset : static_symbols_.tsd_offset;
  }

  std::optional<Layout> find_by_code(const Symbols& symbols) const {
    for (const AllocatorFunctions& functions : symbols.allocators)
      if (const auto layout = find_by_functions(functions)) return layout;
    return std::nullopt;
  }

  // Uses the first two functions that agree: most allocators have malloc and free.
  std::optional<Layout> find_by_functions(const AllocatorFunctions& functions) const {
    for (const Function& allocating : functions.allocating)
      for (const Function& freeing : functions.freeing)
        if (const auto layout = find_by_functions(allocating, freeing)) return layout;
    return std::nullopt;
  }

  std::optional<Layout> find_by_functions(const Function& allocating,
                                          const Function& freeing) const {
    const auto malloc = read_code(allocating);
    const auto free = read_code(freeing);
    const auto places =
        find_counters(file_.machine(), {allocating.address, malloc}, {freeing.address, free});
    return places ? make_layout_at_places(*places) : std::nullopt;
  }

  std::optional<Layout> make_layout_at_places(const CounterPlaces& places) const {
    const auto start = find_segment_start(places.allocated.slot);
    if (!start || !can_be_counters(subtract_wrapping(places.allocated.offset, *start),
                                   subtract_wrapping(places.deallocated.offset, *start)))
      return std::nullopt;
    const std::uint64_t slot = places.allocated.slot;
    return Layout{slot == 0 ? std::nullopt : std::optional(slot),
                  {places.allocated.offset, places.deallocated.offset}};
  }

  std::vector<std::uint8_t> read_code(const Function& function) const {
    const auto offset = file_.find_file_offset(function.address);
    const std::uint64_t size = function.size == 0 ? kDefaultFunctionBytes : function.size;
    return offset ? file_.read_table<std::uint8_t>(*offset, size, kMaxFunctionBytes)
                  : std::vector<std::uint8_t>{};
  }

  // Returns the start of the thread-local segment, relative to the value in a slot, or to the
  // thread pointer.
  std::optional<std::int64_t> find_segment_start(std::uint64_t slot) const {
    if (slot == 0) return is_program_ ? find_program_start() : std::nullopt;
    for (const TlsSlot& known : slots_.slots)
      if (known.address == slot && known.offset >= 0 && known.offset < kMaxTlsBytes)
        return -known.offset;
    return std::nullopt;
  }

  // Checks the range, because the alignment in a hostile file may have any value.
  std::optional<std::int64_t> find_program_start() const {
    const auto start = compute_program_tls_start(file_.machine(), *file_.segment(PT_TLS));
    return start && *start > -2 * kMaxTlsBytes && *start < 2 * kMaxTlsBytes ? start : std::nullopt;
  }

  // Returns whether two counters may be at these offsets of the segment.
  bool can_be_counters(std::int64_t allocated, std::int64_t deallocated) const {
    const auto end = static_cast<std::int64_t>(file_.segment(PT_TLS)->p_memsz) - 8;
    return allocated >= 0 && allocated < deallocated && deallocated <= end && allocated % 8 == 0 &&
           deallocated % 8 == 0;
  }

  std::optional<Layout> find_in_debug_files(const DebugFilesQuery& query) const {
    const auto facts = query ? query(file_) : std::nullopt;
    if (!facts) return std::nullopt;
    const auto variable = facts->tsd_offset ? facts->tsd_offset : find_variable();
    return variable ? make_layout_at_variable(static_cast<std::int64_t>(*variable), facts->fields)
                    : std::nullopt;
  }

  std::optional<Layout> find_by_version() const {
    const KnownVersion* version = find_version(file_);
    if (version == nullptr) return std::nullopt;
    if (cache_offset_ && version->cache_offset >= 0)
      return make_layout_at_variable(*cache_offset_ - version->cache_offset, version->fields);
    const auto variable = find_variable();
    return variable ? make_layout_at_variable(static_cast<std::int64_t>(*variable), version->fields)
                    : std::nullopt;
  }

  // Returns the offset of jemalloc's variable: from its symbol, or the one that all slots refer to.
  std::optional<std::uint64_t> find_variable() const {
    if (const auto symbol = tsd_symbol()) return symbol;
    if (slots_.slots.empty()) return std::nullopt;
    const std::int64_t offset = slots_.slots.front().offset;
    for (const TlsSlot& slot : slots_.slots)
      if (slot.offset != offset) return std::nullopt;
    return static_cast<std::uint64_t>(offset);
  }

  std::optional<Layout> make_layout_at_variable(std::int64_t variable,
                                                const TsdFields& fields) const {
    const bool is_plausible = variable >= 0 && variable < kMaxTlsBytes && fields.allocated >= 0 &&
                              fields.deallocated >= 0 && fields.deallocated < kMaxTlsBytes;
    if (!is_plausible ||
        !can_be_counters(variable + fields.allocated, variable + fields.deallocated))
      return std::nullopt;
    if (!is_program_ && slots_.slots.empty()) return std::nullopt;
    const std::uint64_t slot = is_program_ ? 0 : slots_.slots.front().address;
    const auto start = find_segment_start(slot);
    if (!start) return std::nullopt;
    return Layout{is_program_ ? std::nullopt : std::optional(slot),
                  {*start + variable + fields.allocated, *start + variable + fields.deallocated}};
  }

  const ElfFile& file_;
  bool is_program_;
  Symbols dynamic_symbols_;
  Symbols static_symbols_;  // only of a program
  std::optional<std::int64_t> cache_offset_;
  TlsSlots slots_;  // only of a library
};

}  // namespace

FileResult analyze_file(const ElfFile& file, const DebugFilesQuery& query) {
  if (file.kind() == ElfKind::None) return {};
  if (file.kind() == ElfKind::OtherClass) return {.status = FindStatus::ArchMismatch};
  const Elf64_Phdr* tls = file.segment(PT_TLS);
  if (tls == nullptr || tls->p_memsz < kMinTlsBytes ||
      tls->p_memsz > static_cast<std::uint64_t>(kMaxTlsBytes))
    return {};
  return FileAnalysis(file).analyze(query);
}

}  // namespace ctprof::jemalloc

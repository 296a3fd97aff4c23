#include "plugins/jemalloc-ptrace/finder/allocator_file.hpp"

#include "plugins/jemalloc-ptrace/finder/elf_symbols.hpp"
#include "plugins/jemalloc-ptrace/finder/stripped_program.hpp"
#include "plugins/jemalloc-ptrace/finder/tsd_code.hpp"

namespace ctprof::jemalloc {
namespace {

// jemalloc's variable is more than twice as large in every version; the thread-local data of most
// programs is smaller.
constexpr std::uint64_t kSmallestTls = 256;

// The size of code to follow in a function whose symbol has no size.
constexpr std::uint64_t kFunctionOfUnknownSize = 512;

// The prefix of jemalloc's messages to users.
constexpr const char* kMessagePrefix = "<jemalloc>: ";

class Suspect {
 public:
  explicit Suspect(const ElfFile& file)
      : file_(file),
        program_(file.is_program()),
        dynamic_(dynamic_symbols(file)),
        cache_(empty_cache_of(file)) {
    if (!program_) slots_ = tls_slots(file);
  }

  FileVerdict verdict(const AskDebugFiles& ask) {
    bool certain = dynamic_.mallctl || dynamic_.tsd_offset || cache_;
    auto layout = certain || program_ ? by_code(dynamic_) : std::nullopt;
    if (!layout && program_) {
      symbols_ = static_symbols(file_);
      certain = certain || symbols_.mallctl || symbols_.tsd_offset;
      if (certain) layout = by_code(symbols_);
    }
    if (!certain) return layout ? verdict_of_exported(*layout) : verdict_of_stripped();
    if (!program_ && slots_.slots.empty() && slots_.by_module)
      return {.attach = Attach::DynamicTls};
    if (!layout) layout = by_debug_files(ask);
    if (!layout) layout = by_version();
    if (!layout && program_) layout = by_all_code(TsdImage(file_));
    return layout ? found(*layout) : FileVerdict{.attach = Attach::DwarfParseFailure};
  }

 private:
  FileVerdict found(const Layout& layout) const {
    const Elf64_Phdr* first = file_.first_load();
    if (first == nullptr) return {};
    return {Attach::Found, layout, first->p_vaddr, first->p_offset};
  }

  // Requires jemalloc's messages, because a malloc and a free that add to counters need not be
  // jemalloc's.
  FileVerdict verdict_of_exported(const Layout& layout) const {
    return has_constant(file_, kMessagePrefix) ? found(layout) : FileVerdict{};
  }

  // Without any name, jemalloc is identified by the start of its segment, and by its messages.
  FileVerdict verdict_of_stripped() const {
    if (!program_) return {};
    const TsdImage image(file_);
    if (!image.may_be_jemalloc() || !has_constant(file_, kMessagePrefix)) return {};
    const auto layout = by_all_code(image);
    return layout ? found(*layout) : FileVerdict{.attach = Attach::DwarfParseFailure};
  }

  std::optional<Layout> by_all_code(const TsdImage& image) const {
    const auto start = start_of_program();
    const auto places = start ? counters_of_stripped(file_, image, *start) : std::nullopt;
    return places ? at_places(*places) : std::nullopt;
  }

  std::optional<std::uint64_t> tsd_symbol() const {
    return dynamic_.tsd_offset ? dynamic_.tsd_offset : symbols_.tsd_offset;
  }

  std::optional<Layout> by_code(const Symbols& symbols) const {
    for (const AllocatorFunctions& functions : symbols.allocators)
      if (const auto layout = by_code_of(functions)) return layout;
    return std::nullopt;
  }

  // Uses the first two functions that agree: most allocators have malloc and free.
  std::optional<Layout> by_code_of(const AllocatorFunctions& functions) const {
    for (const Function& allocating : functions.allocating)
      for (const Function& freeing : functions.freeing)
        if (const auto layout = by_code_of(allocating, freeing)) return layout;
    return std::nullopt;
  }

  std::optional<Layout> by_code_of(const Function& allocating, const Function& freeing) const {
    const auto malloc = code(allocating);
    const auto free = code(freeing);
    const auto places =
        counters_in(file_.machine(), {allocating.address, malloc}, {freeing.address, free});
    return places ? at_places(*places) : std::nullopt;
  }

  std::optional<Layout> at_places(const CounterPlaces& places) const {
    const auto start = start_of(places.allocated.slot);
    if (!start || !fit(wrapped_difference(places.allocated.offset, *start),
                       wrapped_difference(places.deallocated.offset, *start)))
      return std::nullopt;
    const std::uint64_t slot = places.allocated.slot;
    return Layout{slot == 0 ? std::nullopt : std::optional(slot),
                  {places.allocated.offset, places.deallocated.offset}};
  }

  std::vector<std::uint8_t> code(const Function& function) const {
    const auto offset = file_.offset_of(function.address);
    const std::uint64_t size = function.size == 0 ? kFunctionOfUnknownSize : function.size;
    return offset ? file_.table<std::uint8_t>(*offset, size, kLongestFunction)
                  : std::vector<std::uint8_t>{};
  }

  // Returns the start of the thread-local segment, relative to the value in a slot, or to the
  // thread pointer.
  std::optional<std::int64_t> start_of(std::uint64_t slot) const {
    if (slot == 0) return program_ ? start_of_program() : std::nullopt;
    for (const TlsSlot& known : slots_.slots)
      if (known.address == slot && known.offset >= 0 && known.offset < kLargestTls)
        return -known.offset;
    return std::nullopt;
  }

  // Checks the range, because the alignment in a hostile file may have any value.
  std::optional<std::int64_t> start_of_program() const {
    const auto start = program_tls_start(file_.machine(), *file_.tls());
    return start && *start > -2 * kLargestTls && *start < 2 * kLargestTls ? start : std::nullopt;
  }

  // Returns whether two counters may be at these offsets of the segment.
  bool fit(std::int64_t allocated, std::int64_t deallocated) const {
    const auto end = static_cast<std::int64_t>(file_.tls()->p_memsz) - 8;
    return allocated >= 0 && allocated < deallocated && deallocated <= end && allocated % 8 == 0 &&
           deallocated % 8 == 0;
  }

  std::optional<Layout> by_debug_files(const AskDebugFiles& ask) const {
    const auto facts = ask ? ask(file_) : std::nullopt;
    if (!facts) return std::nullopt;
    const auto variable = facts->tsd_offset ? facts->tsd_offset : variable_named_or_alone();
    return variable ? at_variable(static_cast<std::int64_t>(*variable), facts->fields)
                    : std::nullopt;
  }

  std::optional<Layout> by_version() const {
    const KnownVersion* version = version_of(file_);
    if (version == nullptr) return std::nullopt;
    if (cache_ && version->cache >= 0)
      return at_variable(*cache_ - version->cache, version->fields);
    const auto variable = variable_named_or_alone();
    return variable ? at_variable(static_cast<std::int64_t>(*variable), version->fields)
                    : std::nullopt;
  }

  // Returns the offset of jemalloc's variable: from its symbol, or the one that all slots refer to.
  std::optional<std::uint64_t> variable_named_or_alone() const {
    if (const auto symbol = tsd_symbol()) return symbol;
    if (slots_.slots.empty()) return std::nullopt;
    const std::int64_t offset = slots_.slots.front().offset;
    for (const TlsSlot& slot : slots_.slots)
      if (slot.offset != offset) return std::nullopt;
    return static_cast<std::uint64_t>(offset);
  }

  std::optional<Layout> at_variable(std::int64_t variable, const TsdFields& fields) const {
    const bool plausible = variable >= 0 && variable < kLargestTls && fields.allocated >= 0 &&
                           fields.deallocated >= 0 && fields.deallocated < kLargestTls;
    if (!plausible || !fit(variable + fields.allocated, variable + fields.deallocated))
      return std::nullopt;
    if (!program_ && slots_.slots.empty()) return std::nullopt;
    const std::uint64_t slot = program_ ? 0 : slots_.slots.front().address;
    const auto start = start_of(slot);
    if (!start) return std::nullopt;
    return Layout{program_ ? std::nullopt : std::optional(slot),
                  {*start + variable + fields.allocated, *start + variable + fields.deallocated}};
  }

  const ElfFile& file_;
  bool program_;
  Symbols dynamic_;
  Symbols symbols_;  // only of a program
  std::optional<std::int64_t> cache_;
  TlsSlots slots_;  // only of a library
};

}  // namespace

FileVerdict judge(const ElfFile& file, const AskDebugFiles& ask) {
  if (file.kind() == ElfKind::None) return {};
  if (file.kind() == ElfKind::OtherClass) return {.attach = Attach::ArchMismatch};
  const Elf64_Phdr* tls = file.tls();
  if (tls == nullptr || tls->p_memsz < kSmallestTls ||
      tls->p_memsz > static_cast<std::uint64_t>(kLargestTls))
    return {};
  return Suspect(file).verdict(ask);
}

}  // namespace ctprof::jemalloc

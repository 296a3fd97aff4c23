#include "plugins/jemalloc-ptrace/finder/stripped_program.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <set>
#include <span>
#include <vector>

namespace ctprof::jemalloc {

namespace {

constexpr std::uint64_t kMaxImage = 1 << 20;
constexpr std::uint64_t kMaxConstants = 256 << 20;
constexpr std::uint64_t kConstantsPerRead = 1 << 20;
constexpr std::size_t kCachePairs = 24;

// Read from Debian's builds and from crates, each compared with mallctl or with the code of malloc
// and free.
constexpr std::array kVersions{
    KnownVersion{"5.2.1-0-gea6b3e973b47", EM_X86_64, {16, 24}, -1},
    KnownVersion{"5.2.1-0-gea6b3e973b47", EM_AARCH64, {16, 24}, -1},
    KnownVersion{"5.3.0-0-g54eaed1d8b56", EM_X86_64, {824, 840}, 432},
    KnownVersion{"5.3.0-0-g54eaed1d8b56", EM_AARCH64, {888, 904}, 496},
    // The version in tikv-jemallocator 0.6.
    KnownVersion{"5.3.0-1-ge13ca993e8cc", EM_X86_64, {824, 840}, 432},
    KnownVersion{"5.3.0-1-ge13ca993e8cc", EM_AARCH64, {888, 904}, 496},
    KnownVersion{"5.3.1-0-g81034ce1f137", EM_X86_64, {936, 952}, 544},
    KnownVersion{"5.3.1-0-g81034ce1f137", EM_AARCH64, {1008, 1024}, 616},
};

// Calls `matches` with the file's constants, piece by piece, each overlapping the previous one,
// until it returns true.
template <class Predicate>
bool find_in_constants(const ElfFile& file, std::size_t overlap, Predicate matches) {
  std::uint64_t bytes_left = kMaxConstants;
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uint64_t size = std::min<std::uint64_t>(segment.p_filesz, bytes_left);
    bytes_left -= size;
    for (std::uint64_t at = 0; at < size; at += kConstantsPerRead) {
      const auto piece = file.read_table<char>(segment.p_offset + at,
                                               std::min(size - at, kConstantsPerRead + overlap),
                                               kConstantsPerRead + overlap);
      if (piece.empty()) break;
      if (matches(std::string_view(piece.data(), piece.size()))) return true;
    }
  }
  return false;
}

}  // namespace

std::span<const KnownVersion> known_versions() { return kVersions; }

std::optional<std::int64_t> find_empty_cache(std::span<const std::uint64_t> image) {
  std::size_t pairs = 0;
  for (std::size_t at = 0; at + 1 < image.size();) {
    const bool is_pair = image[at] == 1 && image[at + 1] == 0;
    pairs = is_pair ? pairs + 1 : 0;
    at += is_pair ? 2 : 1;
    if (pairs == kCachePairs)
      return static_cast<std::int64_t>((at - 2 * kCachePairs) * sizeof(std::uint64_t));
  }
  return std::nullopt;
}

std::optional<std::int64_t> read_empty_cache(const ElfFile& file) {
  const Elf64_Phdr* tls = file.segment(PT_TLS);
  if (tls == nullptr || tls->p_filesz > kMaxImage) return std::nullopt;
  return find_empty_cache(file.read_table<std::uint64_t>(
      tls->p_offset, tls->p_filesz / sizeof(std::uint64_t), kMaxImage));
}

const KnownVersion* find_version(const ElfFile& file) {
  const KnownVersion* found = nullptr;
  find_in_constants(file, kVersions[0].text.size(), [&](std::string_view piece) {
    for (const KnownVersion& version : kVersions)
      if (version.machine == file.machine() && piece.find(version.text) != piece.npos)
        found = &version;
    return found != nullptr;
  });
  return found;
}

bool has_constant(const ElfFile& file, std::string_view text) {
  return find_in_constants(file, text.size(),
                           [&](std::string_view piece) { return piece.find(text) != piece.npos; });
}

namespace {

// The header of .eh_frame_hdr in the form that every linker writes: version 1, a relative pointer,
// a count of four bytes, and a sorted table with two distances of four bytes for each function.
constexpr std::array<std::uint8_t, 4> kExpectedHeader{1, 0x1b, 0x03, 0x3b};
struct UnwindHeader {
  std::array<std::uint8_t, 4> encodings;
  std::int32_t frames;
  std::uint32_t count;
};
struct UnwindEntry {
  std::int32_t function;  // relative to the header's address
  std::int32_t frame;
};

constexpr std::uint64_t kMaxFunctions = 2'000'000;
constexpr std::uint64_t kMaxCodeBytes = 128 << 20;
// Limit for hostile files: jemalloc and a program together add to a few hundred places.
constexpr std::size_t kMaxPlaces = 10'000;

// In 5.0 to 5.2: tsd_state_uninitialized in the variable's first byte, followed by zeros; and the
// distance of the counters from it.
constexpr std::uint64_t kStates[] = {5, 6};
constexpr std::int64_t kCounterOffsetFromState = 16;
// Since 5.3, for all versions of the table.
constexpr std::int64_t kCounterOffsetFromCache = 392;
constexpr std::int64_t kWord = sizeof(std::uint64_t);

const Elf64_Phdr* find_unwind_segment(const ElfFile& file) {
  const auto& segments = file.segments();
  const auto found = std::ranges::find(segments, Elf64_Word{PT_GNU_EH_FRAME}, &Elf64_Phdr::p_type);
  return found == segments.end() ? nullptr : &*found;
}

// Sets the sizes: a function ends at the latest where the next one begins.
void set_sizes(std::vector<Function>& functions) {
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const bool last = i + 1 == functions.size();
    const std::uint64_t size =
        last ? kMaxFunctionBytes : functions[i + 1].address - functions[i].address;
    functions[i].size = std::min(size, kMaxFunctionBytes);
  }
}

std::vector<Function> read_sorted_table(const ElfFile& file) {
  const Elf64_Phdr* segment = find_unwind_segment(file);
  UnwindHeader head{};
  if (segment == nullptr || !file.read(segment->p_offset, &head, sizeof head) ||
      head.encodings != kExpectedHeader)
    return {};
  std::vector<Function> functions;
  for (const UnwindEntry& entry :
       file.read_table<UnwindEntry>(segment->p_offset + sizeof head, head.count, kMaxFunctions))
    functions.push_back({segment->p_vaddr + static_cast<std::uint64_t>(entry.function), 0});
  return functions;
}

// A record of .eh_frame. A static program has no sorted table, only these records: their length, a
// distance that is 0 for a shared record, and the function's address relative to this field.
struct Record {
  std::uint32_t length;
  std::uint32_t shared;
  std::int32_t function;
};

std::vector<Function> read_unwind_records(const ElfFile& file, const Elf64_Shdr& section) {
  constexpr std::uint64_t kMaxTableBytes = 64 << 20;
  const auto bytes =
      file.read_table<std::uint8_t>(section.sh_offset, section.sh_size, kMaxTableBytes);
  std::vector<Function> functions;
  Record record{};
  for (std::size_t at = 0; bytes.size() - at >= sizeof record;) {
    std::memcpy(&record, bytes.data() + at, sizeof record);
    const std::uint64_t field_address = section.sh_addr + at + offsetof(Record, function);
    if (record.shared != 0)
      functions.push_back({field_address + static_cast<std::uint64_t>(record.function), 0});
    if (record.length == 0 || record.length > bytes.size() - at - sizeof record.length) break;
    at += sizeof record.length + record.length;
  }
  return functions;
}

std::vector<Function> read_unwind_records(const ElfFile& file) {
  for (const NamedSection& section : file.named_sections())
    if (section.name == ".eh_frame") return read_unwind_records(file, section.header);
  return {};
}

// Collects the places to which the functions of one code segment add, relative to the start of the
// thread-local segment.
class SegmentSearch {
 public:
  SegmentSearch(const ElfFile& file, const Elf64_Phdr& segment, std::int64_t start)
      : machine_(file.machine()),
        start_(start),
        address_(segment.p_vaddr),
        code_(file.read_table<std::uint8_t>(segment.p_offset, segment.p_filesz, kMaxCodeBytes)) {}

  void add(const Function& function, std::set<std::int64_t>& places) const {
    if (function.address < address_ || function.address - address_ >= code_.size()) return;
    const auto bytes = std::span(code_).subspan(function.address - address_);
    const Code code{function.address,
                    bytes.first(std::min<std::uint64_t>(bytes.size(), function.size))};
    for (const TlsAddress& place : find_added_places(machine_, code)) {
      const std::int64_t at = subtract_wrapping(place.offset, start_);
      const bool is_in_segment = place.slot == 0 && at >= 0 && at < kMaxTlsBytes;
      if (is_in_segment && places.size() < kMaxPlaces) places.insert(at);
    }
  }

 private:
  std::uint16_t machine_;
  std::int64_t start_;
  std::uint64_t address_;
  std::vector<std::uint8_t> code_;
};

std::set<std::int64_t> find_all_places(const ElfFile& file, std::int64_t start) {
  std::set<std::int64_t> places;
  const auto functions = list_unwind_functions(file);
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const SegmentSearch search(file, segment, start);
    for (const Function& function : functions) {
      if (!file.budget()->charge(1)) return {};  // checks the time limit
      search.add(function, places);
    }
  }
  return places;
}

}  // namespace

std::vector<Function> list_unwind_functions(const ElfFile& file) {
  auto functions = read_sorted_table(file);
  if (functions.empty()) functions = read_unwind_records(file);
  std::ranges::sort(functions, {}, &Function::address);
  set_sizes(functions);
  return functions;
}

TsdImage::TsdImage(const ElfFile& file) {
  const Elf64_Phdr* tls = file.segment(PT_TLS);
  if (tls == nullptr || tls->p_filesz > kMaxImage) return;
  words_ = file.read_table<std::uint64_t>(tls->p_offset, tls->p_filesz / kWord, kMaxImage);
  cache_offset_ = find_empty_cache(words_);
}

bool TsdImage::is_state(std::size_t word) const {
  return word < words_.size() && std::ranges::find(kStates, words_[word]) != std::end(kStates);
}

bool TsdImage::may_be_jemalloc() const {
  for (std::size_t word = 0; word < words_.size(); ++word)
    if (is_state(word)) return true;
  return cache_offset_.has_value();
}

bool TsdImage::has_counters_at(std::int64_t allocated, std::int64_t deallocated) const {
  if (cache_offset_)
    return allocated == *cache_offset_ + kCounterOffsetFromCache &&
           deallocated == allocated + 2 * kWord;
  const std::int64_t variable = allocated - kCounterOffsetFromState;
  return deallocated == allocated + kWord && variable >= 0 && variable % kWord == 0 &&
         is_state(static_cast<std::size_t>(variable / kWord));
}

std::optional<CounterPlaces> find_counters_in_stripped(const ElfFile& file, const TsdImage& image,
                                                       std::int64_t start) {
  std::optional<CounterPlaces> found;
  const auto places = find_all_places(file, start);
  for (const std::int64_t allocated : places)
    for (const std::int64_t deallocated : {allocated + kWord, allocated + 2 * kWord}) {
      if (!places.contains(deallocated) || !image.has_counters_at(allocated, deallocated)) continue;
      if (found) return std::nullopt;
      found = CounterPlaces{{0, start + allocated}, {0, start + deallocated}};
    }
  return found;
}

}  // namespace ctprof::jemalloc

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
constexpr std::uint64_t kConstantsAtOnce = 1 << 20;
constexpr std::size_t kPairs = 24;

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

// Calls `see` with the file's constants, piece by piece, each overlapping the previous one, until
// it returns true.
template <class See>
bool any_piece(const ElfFile& file, std::size_t overlap, See see) {
  std::uint64_t patience = kMaxConstants;
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uint64_t size = std::min<std::uint64_t>(segment.p_filesz, patience);
    patience -= size;
    for (std::uint64_t at = 0; at < size; at += kConstantsAtOnce) {
      const auto piece =
          file.table<char>(segment.p_offset + at, std::min(size - at, kConstantsAtOnce + overlap),
                           kConstantsAtOnce + overlap);
      if (piece.empty()) break;
      if (see(std::string_view(piece.data(), piece.size()))) return true;
    }
  }
  return false;
}

}  // namespace

std::span<const KnownVersion> known_versions() { return kVersions; }

std::optional<std::int64_t> empty_cache_in(std::span<const std::uint64_t> image) {
  std::size_t pairs = 0;
  for (std::size_t at = 0; at + 1 < image.size();) {
    const bool pair = image[at] == 1 && image[at + 1] == 0;
    pairs = pair ? pairs + 1 : 0;
    at += pair ? 2 : 1;
    if (pairs == kPairs)
      return static_cast<std::int64_t>((at - 2 * kPairs) * sizeof(std::uint64_t));
  }
  return std::nullopt;
}

std::optional<std::int64_t> empty_cache_of(const ElfFile& file) {
  const Elf64_Phdr* tls = file.tls();
  if (tls == nullptr || tls->p_filesz > kMaxImage) return std::nullopt;
  return empty_cache_in(
      file.table<std::uint64_t>(tls->p_offset, tls->p_filesz / sizeof(std::uint64_t), kMaxImage));
}

const KnownVersion* version_of(const ElfFile& file) {
  const KnownVersion* found = nullptr;
  any_piece(file, kVersions[0].text.size(), [&](std::string_view piece) {
    for (const KnownVersion& version : kVersions)
      if (version.machine == file.machine() && piece.find(version.text) != piece.npos)
        found = &version;
    return found != nullptr;
  });
  return found;
}

bool has_constant(const ElfFile& file, std::string_view text) {
  return any_piece(file, text.size(),
                   [&](std::string_view piece) { return piece.find(text) != piece.npos; });
}

namespace {

// The header of .eh_frame_hdr in the form that every linker writes: version 1, a relative pointer,
// a count of four bytes, and a sorted table with two distances of four bytes for each function.
constexpr std::array<std::uint8_t, 4> kUsualHead{1, 0x1b, 0x03, 0x3b};
struct Head {
  std::array<std::uint8_t, 4> encodings;
  std::int32_t frames;
  std::uint32_t count;
};
struct UnwindEntry {
  std::int32_t function;  // relative to the header's address
  std::int32_t frame;
};

constexpr std::uint64_t kMostFunctions = 2'000'000;
constexpr std::uint64_t kMostCode = 128 << 20;
// Limit for hostile files: jemalloc and a program together add to a few hundred places.
constexpr std::size_t kMostPlaces = 10'000;

// In 5.0 to 5.2: tsd_state_uninitialized in the variable's first byte, followed by zeros; and the
// distance of the counters from it.
constexpr std::uint64_t kStates[] = {5, 6};
constexpr std::int64_t kCountersBehindState = 16;
// Since 5.3, for all versions of the table.
constexpr std::int64_t kCountersBehindCache = 392;
constexpr std::int64_t kWord = sizeof(std::uint64_t);

const Elf64_Phdr* unwind_segment(const ElfFile& file) {
  const auto& segments = file.segments();
  const auto found = std::ranges::find(segments, Elf64_Word{PT_GNU_EH_FRAME}, &Elf64_Phdr::p_type);
  return found == segments.end() ? nullptr : &*found;
}

// Sets the sizes: a function ends at the latest where the next one begins.
void set_sizes(std::vector<Function>& functions) {
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const bool last = i + 1 == functions.size();
    const std::uint64_t size =
        last ? kLongestFunction : functions[i + 1].address - functions[i].address;
    functions[i].size = std::min(size, kLongestFunction);
  }
}

std::vector<Function> by_sorted_table(const ElfFile& file) {
  const Elf64_Phdr* segment = unwind_segment(file);
  Head head{};
  if (segment == nullptr || !file.read(segment->p_offset, &head, sizeof head) ||
      head.encodings != kUsualHead)
    return {};
  std::vector<Function> functions;
  for (const UnwindEntry& entry :
       file.table<UnwindEntry>(segment->p_offset + sizeof head, head.count, kMostFunctions))
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

std::vector<Function> by_records(const ElfFile& file, const Elf64_Shdr& section) {
  constexpr std::uint64_t kMostBytes = 64 << 20;
  const auto bytes = file.table<std::uint8_t>(section.sh_offset, section.sh_size, kMostBytes);
  std::vector<Function> functions;
  Record record{};
  for (std::size_t at = 0; bytes.size() - at >= sizeof record;) {
    std::memcpy(&record, bytes.data() + at, sizeof record);
    const std::uint64_t there = section.sh_addr + at + offsetof(Record, function);
    if (record.shared != 0)
      functions.push_back({there + static_cast<std::uint64_t>(record.function), 0});
    if (record.length == 0 || record.length > bytes.size() - at - sizeof record.length) break;
    at += sizeof record.length + record.length;
  }
  return functions;
}

std::vector<Function> by_records(const ElfFile& file) {
  for (const NamedSection& section : file.named_sections())
    if (section.name == ".eh_frame") return by_records(file, section.header);
  return {};
}

// Collects the places to which the functions of one code segment add, relative to the start of the
// thread-local segment.
class Search {
 public:
  Search(const ElfFile& file, const Elf64_Phdr& segment, std::int64_t start)
      : machine_(file.machine()),
        start_(start),
        address_(segment.p_vaddr),
        code_(file.table<std::uint8_t>(segment.p_offset, segment.p_filesz, kMostCode)) {}

  void add(const Function& function, std::set<std::int64_t>& places) const {
    if (function.address < address_ || function.address - address_ >= code_.size()) return;
    const auto bytes = std::span(code_).subspan(function.address - address_);
    const Code code{function.address,
                    bytes.first(std::min<std::uint64_t>(bytes.size(), function.size))};
    for (const TlsAddress& place : places_added_to(machine_, code)) {
      const std::int64_t at = wrapped_difference(place.offset, start_);
      const bool within = place.slot == 0 && at >= 0 && at < kLargestTls;
      if (within && places.size() < kMostPlaces) places.insert(at);
    }
  }

 private:
  std::uint16_t machine_;
  std::int64_t start_;
  std::uint64_t address_;
  std::vector<std::uint8_t> code_;
};

std::set<std::int64_t> all_places(const ElfFile& file, std::int64_t start) {
  std::set<std::int64_t> places;
  const auto functions = unwound_functions(file);
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const Search search(file, segment, start);
    for (const Function& function : functions) {
      if (!file.budget()->charge(1)) return {};  // checks the time limit
      search.add(function, places);
    }
  }
  return places;
}

}  // namespace

std::vector<Function> unwound_functions(const ElfFile& file) {
  auto functions = by_sorted_table(file);
  if (functions.empty()) functions = by_records(file);
  std::ranges::sort(functions, {}, &Function::address);
  set_sizes(functions);
  return functions;
}

TsdImage::TsdImage(const ElfFile& file) {
  const Elf64_Phdr* tls = file.tls();
  if (tls == nullptr || tls->p_filesz > kMaxImage) return;
  words_ = file.table<std::uint64_t>(tls->p_offset, tls->p_filesz / kWord, kMaxImage);
  cache_ = empty_cache_in(words_);
}

bool TsdImage::is_state(std::size_t word) const {
  return word < words_.size() && std::ranges::find(kStates, words_[word]) != std::end(kStates);
}

bool TsdImage::may_be_jemalloc() const {
  for (std::size_t word = 0; word < words_.size(); ++word)
    if (is_state(word)) return true;
  return cache_.has_value();
}

bool TsdImage::has_counters_at(std::int64_t allocated, std::int64_t deallocated) const {
  if (cache_)
    return allocated == *cache_ + kCountersBehindCache && deallocated == allocated + 2 * kWord;
  const std::int64_t variable = allocated - kCountersBehindState;
  return deallocated == allocated + kWord && variable >= 0 && variable % kWord == 0 &&
         is_state(static_cast<std::size_t>(variable / kWord));
}

std::optional<CounterPlaces> counters_of_stripped(const ElfFile& file, const TsdImage& image,
                                                  std::int64_t start) {
  std::optional<CounterPlaces> found;
  const auto places = all_places(file, start);
  for (const std::int64_t allocated : places)
    for (const std::int64_t deallocated : {allocated + kWord, allocated + 2 * kWord}) {
      if (!places.contains(deallocated) || !image.has_counters_at(allocated, deallocated)) continue;
      if (found) return std::nullopt;
      found = CounterPlaces{{0, start + allocated}, {0, start + deallocated}};
    }
  return found;
}

}  // namespace ctprof::jemalloc

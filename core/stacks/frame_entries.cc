#include "core/stacks/frame_entries.hpp"

#include <algorithm>
#include <utility>

namespace ctprof {
namespace {

// Limit on functions in one file; the largest browsers have a million.
constexpr std::size_t kMostFunctions = 4 << 20;

// No program is linked to a higher address. A sum of two of these does not overflow.
constexpr FileAddress kHighestAddress = FileAddress{1} << 62;

// Limit on cached CIEs; the largest programs have some twenty.
constexpr std::size_t kMostCommons = 1024;
// Limit on letters of an augmentation; compilers write at most five.
constexpr std::size_t kMostLetters = 32;
// Entries of a linker's table that are read in one step.
constexpr std::uint64_t kTakenInStep = 4;

// Pointer encodings: the low four bits give the data format, the next three the base.
constexpr std::uint8_t kAbsolute = 0x00, kUnsigned2 = 0x02, kUnsigned4 = 0x03, kUnsigned8 = 0x04,
                       kSigned2 = 0x0a, kSigned4 = 0x0b, kSigned8 = 0x0c;
constexpr std::uint8_t kFromHere = 0x10, kIsBad = 0xff;
constexpr std::uint8_t kTableEncoding = 0x3b;  // four bytes, signed, table-relative

std::uint64_t extended(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// Reads an encoded value without applying its base.
std::uint64_t written(ByteCursor& cursor, std::uint8_t encoding) {
  switch (encoding & 0x0f) {
    case kAbsolute:
    case kUnsigned8:
    case kSigned8: return cursor.get<std::uint64_t>();
    case kUnsigned2: return cursor.get<std::uint16_t>();
    case kUnsigned4: return cursor.get<std::uint32_t>();
    case kSigned2: return extended(cursor.get<std::int16_t>());
    case kSigned4: return extended(cursor.get<std::int32_t>());
    default: cursor.skip(UINT64_MAX); return 0;
  }
}

struct Head {
  std::uint64_t size = 0;  // size of the data after `id_at`
  std::size_t id_at = 0;
  std::uint64_t id = 0;
  bool is_wide = false;
};

// Reads the first fields, which CIEs and FDEs share.
Head head_at(ByteCursor& cursor, FrameEntries::Format format) {
  Head head;
  head.size = cursor.get<std::uint32_t>();
  head.is_wide = head.size == UINT32_MAX;
  if (head.is_wide) head.size = cursor.get<std::uint64_t>();
  head.id_at = cursor.position();
  const bool wide_id = head.is_wide && format == FrameEntries::Format::DebugFrame;
  if (head.size != 0) head.id = wide_id ? cursor.get<std::uint64_t>() : cursor.get<std::uint32_t>();
  return head;
}

bool is_common(const Head& head, FrameEntries::Format format) {
  if (format == FrameEntries::Format::EhFrame) return head.id == 0;
  return head.id == (head.is_wide ? UINT64_MAX : UINT32_MAX);
}

// Reads augmentation data. If the augmentation begins with 'z', its letters describe the data.
void read_augmentation(ByteCursor data, std::string_view letters, CommonEntry& common) {
  for (const char letter : letters.substr(1)) switch (letter) {
      case 'R': common.pointer_encoding = data.get<std::uint8_t>(); break;
      case 'P': written(data, data.get<std::uint8_t>()); break;
      case 'L': data.skip(1); break;
      case 'S': common.is_signal = true; break;
      default: break;  // no data: 'B' and 'G' of AArch64
    }
}

}  // namespace

FrameEntries::FrameEntries(Format format, std::string bytes, FileAddress address)
    : format_(format), bytes_(std::move(bytes)), address_(address) {}

bool FrameEntries::take_table(std::string_view header, FileAddress address) {
  ByteCursor cursor(header);
  const auto version = cursor.get<std::uint8_t>(), section = cursor.get<std::uint8_t>(),
             count = cursor.get<std::uint8_t>(), entries = cursor.get<std::uint8_t>();
  if (version != 1 || count != kUnsigned4 || entries != kTableEncoding) return false;
  written(cursor, section);
  const std::size_t size = std::min<std::size_t>(cursor.get<std::uint32_t>(), kMostFunctions);
  table_.reserve(std::min(size, header.size() / sizeof(Place)));
  steps_ += std::min(size, header.size() / sizeof(Place)) / kTakenInStep;
  for (std::size_t i = 0; i < size && cursor.ok(); ++i) {
    const FileAddress start = address + extended(cursor.get<std::int32_t>());
    const FileAddress entry = address + extended(cursor.get<std::int32_t>());
    if (cursor.ok()) add(start, entry - address_);
  }
  return true;
}

void FrameEntries::make_table() {
  std::vector<std::pair<FileAddress, std::uint64_t>> found;
  std::size_t walked = 0;
  for (std::uint64_t at = 0; at < bytes_.size(); ++walked) {
    is_cut_ = walked == kMostWalked || commons_read_ > kMostCommonsWalked;
    if (is_cut_) break;
    ++steps_;
    ByteCursor cursor(bytes_, at);
    const Head head = head_at(cursor, format_);
    if (!cursor.ok() || head.size > bytes_.size() - head.id_at) break;
    if (head.size != 0 && !is_common(head, format_))
      if (const auto function = function_at(at)) found.emplace_back(function->start, at);
    at = head.id_at + head.size;
  }
  std::ranges::sort(found);
  for (const auto& [start, entry] : found) add(start, entry);
}

void FrameEntries::add(FileAddress start, std::uint64_t entry) {
  if (table_.empty()) first_ = start;
  if (start - first_ > UINT32_MAX || entry >= bytes_.size() || entry > UINT32_MAX) return;
  table_.push_back({static_cast<std::uint32_t>(start - first_), static_cast<std::uint32_t>(entry)});
}

std::optional<FunctionEntry> FrameEntries::find(FileAddress address) const {
  if (address - first_ > UINT32_MAX) return std::nullopt;
  const auto after = std::ranges::upper_bound(table_, static_cast<std::uint32_t>(address - first_),
                                              {}, &Place::start);
  if (after == table_.begin()) return std::nullopt;
  const auto function = function_at(std::prev(after)->entry);
  const bool covers = function && address - function->start < function->size;
  return covers ? function : std::nullopt;
}

// The addresses of the table determine which entry find() uses; the entry determines its range.
bool FrameEntries::for_each(std::uint64_t most_steps, const Visitor& visit) const {
  const std::uint64_t before = steps_;
  for (std::size_t i = 0; i < table_.size(); ++i) {
    if (steps_ - before > most_steps) return false;
    const bool is_last = i + 1 == table_.size();
    if (!is_last && table_[i + 1].start < table_[i].start) return false;
    if (!is_last && table_[i + 1].start == table_[i].start) continue;
    const auto function = function_at(table_[i].entry);
    if (!function) continue;
    if (function->start > kHighestAddress || function->size > kHighestAddress) return false;
    const std::uint64_t last = is_last ? std::uint64_t{UINT32_MAX} + 1 : table_[i + 1].start;
    const FileAddress begin = std::max(first_ + table_[i].start, function->start);
    const FileAddress end = std::min(first_ + last, function->start + function->size);
    if (begin < end && !visit(*function, begin, end)) return false;
  }
  return true;
}

std::optional<FunctionEntry> FrameEntries::function_at(std::uint64_t offset) const {
  steps_ += kStepsOfFunction;
  ByteCursor cursor(bytes_, offset);
  const Head head = head_at(cursor, format_);
  if (!cursor.ok() || head.size == 0 || is_common(head, format_)) return std::nullopt;
  const auto common = common_at(format_ == Format::EhFrame ? head.id_at - head.id : head.id);
  if (!common || head.size > bytes_.size() - head.id_at) return std::nullopt;
  FunctionEntry function;
  function.common = *common;
  function.start = pointer(cursor, common->pointer_encoding);
  function.size = written(cursor, common->pointer_encoding);
  if (common->has_augmentation) cursor.skip(cursor.unsigned_leb());
  function.program = cursor.take(head.id_at + head.size - cursor.position());
  return cursor.ok() ? std::optional(function) : std::nullopt;
}

std::optional<CommonEntry> FrameEntries::common_at(std::uint64_t offset) const {
  auto known = commons_.find(offset);
  if (known == commons_.end()) {
    if (commons_.size() == kMostCommons) commons_.clear();
    known = commons_.emplace(offset, read_common(offset)).first;
  }
  const Common& common = known->second;
  auto entry = common.entry;
  if (entry)
    entry->program = std::string_view(bytes_).substr(common.program_at, common.program_size);
  return entry;
}

FrameEntries::Common FrameEntries::read_common(std::uint64_t offset) const {
  steps_ += kStepsOfCommon;
  ++commons_read_;
  ByteCursor cursor(bytes_, offset);
  const Head head = head_at(cursor, format_);
  if (!cursor.ok() || !is_common(head, format_)) return {};
  CommonEntry common;
  const auto version = cursor.get<std::uint8_t>();
  const std::string_view letters = cursor.text(kMostLetters);
  if (version == 4) cursor.skip(2);  // sizes of an address, and of a segment's number
  common.code_factor = cursor.unsigned_leb();
  common.data_factor = cursor.signed_leb();
  common.ra_register = version == 1 ? cursor.get<std::uint8_t>() : cursor.unsigned_leb();
  common.has_augmentation = letters.starts_with('z');
  if (common.has_augmentation)
    read_augmentation(ByteCursor(cursor.take(cursor.unsigned_leb())), letters, common);
  const std::size_t program_at = cursor.position();
  const std::string_view program = cursor.take(head.id_at + head.size - program_at);
  const bool known = version == 1 || version == 3 || version == 4;
  const bool plain = letters.empty() || common.has_augmentation;
  if (!cursor.ok() || !known || !plain) return {};
  return {common, program_at, program.size()};
}

std::uint64_t FrameEntries::pointer(ByteCursor& cursor, std::uint8_t encoding) const {
  const FileAddress here = address_ + cursor.position();
  if ((encoding & 0xf0) == kFromHere) return here + written(cursor, encoding);
  return written(cursor, encoding & 0xf0 ? kIsBad : encoding);
}

}  // namespace ctprof

#include "core/stacks/frame_entries.hpp"

#include <algorithm>
#include <utility>

namespace ctprof {
namespace {

// Limit on functions in one file; the largest browsers have a million.
constexpr std::size_t kMaxFunctions = 4 << 20;

// No program is linked to a higher address. A sum of two of these does not overflow.
constexpr FileAddress kHighestAddress = FileAddress{1} << 62;

// Limit on cached CIEs; the largest programs have some twenty.
constexpr std::size_t kMaxCachedCommonEntries = 1024;
// Limit on letters of an augmentation; compilers write at most five.
constexpr std::size_t kMaxAugmentationLetters = 32;
// Entries of a linker's table that are read in one step.
constexpr std::uint64_t kTableEntriesPerStep = 4;

// Pointer encodings: the low four bits give the data format, the next three the base.
constexpr std::uint8_t kAbsolute = 0x00, kUnsigned2 = 0x02, kUnsigned4 = 0x03, kUnsigned8 = 0x04,
                       kSigned2 = 0x0a, kSigned4 = 0x0b, kSigned8 = 0x0c;
constexpr std::uint8_t kPcRelative = 0x10, kInvalidEncoding = 0xff;
constexpr std::uint8_t kTableEncoding = 0x3b;  // four bytes, signed, table-relative

std::uint64_t sign_extend(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// Reads an encoded value without applying its base.
std::uint64_t read_encoded(ByteCursor& cursor, std::uint8_t encoding) {
  switch (encoding & 0x0f) {
    case kAbsolute:
    case kUnsigned8:
    case kSigned8: return cursor.get<std::uint64_t>();
    case kUnsigned2: return cursor.get<std::uint16_t>();
    case kUnsigned4: return cursor.get<std::uint32_t>();
    case kSigned2: return sign_extend(cursor.get<std::int16_t>());
    case kSigned4: return sign_extend(cursor.get<std::int32_t>());
    default: cursor.skip(UINT64_MAX); return 0;
  }
}

struct EntryHeader {
  std::uint64_t size = 0;  // size of the data after `id_offset`
  std::size_t id_offset = 0;
  std::uint64_t id = 0;
  bool is_wide = false;
};

// Reads the first fields, which CIEs and FDEs share.
EntryHeader read_header(ByteCursor& cursor, FrameEntries::Format format) {
  EntryHeader header;
  header.size = cursor.get<std::uint32_t>();
  header.is_wide = header.size == UINT32_MAX;
  if (header.is_wide) header.size = cursor.get<std::uint64_t>();
  header.id_offset = cursor.position();
  const bool wide_id = header.is_wide && format == FrameEntries::Format::DebugFrame;
  if (header.size != 0)
    header.id = wide_id ? cursor.get<std::uint64_t>() : cursor.get<std::uint32_t>();
  return header;
}

bool is_common(const EntryHeader& head, FrameEntries::Format format) {
  if (format == FrameEntries::Format::EhFrame) return head.id == 0;
  return head.id == (head.is_wide ? UINT64_MAX : UINT32_MAX);
}

// Reads augmentation data. If the augmentation begins with 'z', its letters describe the data.
void read_augmentation(ByteCursor data, std::string_view letters, CommonEntry& common) {
  for (const char letter : letters.substr(1)) switch (letter) {
      case 'R': common.pointer_encoding = data.get<std::uint8_t>(); break;
      case 'P': read_encoded(data, data.get<std::uint8_t>()); break;
      case 'L': data.skip(1); break;
      case 'S': common.is_signal = true; break;
      default: break;  // no data: 'B' and 'G' of AArch64
    }
}

}  // namespace

FrameEntries::FrameEntries(Format format, std::string bytes, FileAddress address)
    : format_(format), bytes_(std::move(bytes)), address_(address) {}

bool FrameEntries::read_table(std::string_view header, FileAddress address) {
  ByteCursor cursor(header);
  const auto version = cursor.get<std::uint8_t>(), section = cursor.get<std::uint8_t>(),
             count = cursor.get<std::uint8_t>(), entries = cursor.get<std::uint8_t>();
  if (version != 1 || count != kUnsigned4 || entries != kTableEncoding) return false;
  read_encoded(cursor, section);
  const std::size_t size = std::min<std::size_t>(cursor.get<std::uint32_t>(), kMaxFunctions);
  table_.reserve(std::min(size, header.size() / sizeof(TableRow)));
  steps_ += std::min(size, header.size() / sizeof(TableRow)) / kTableEntriesPerStep;
  for (std::size_t i = 0; i < size && cursor.ok(); ++i) {
    const FileAddress start = address + sign_extend(cursor.get<std::int32_t>());
    const FileAddress entry = address + sign_extend(cursor.get<std::int32_t>());
    if (cursor.ok()) add_row(start, entry - address_);
  }
  return true;
}

void FrameEntries::build_table() {
  std::vector<std::pair<FileAddress, std::uint64_t>> functions;
  std::size_t walked = 0;
  for (std::uint64_t at = 0; at < bytes_.size(); ++walked) {
    is_truncated_ = walked == kMaxWalkedEntries || common_entries_read_ > kMaxWalkedCommonEntries;
    if (is_truncated_) break;
    ++steps_;
    ByteCursor cursor(bytes_, at);
    const EntryHeader head = read_header(cursor, format_);
    if (!cursor.ok() || head.size > bytes_.size() - head.id_offset) break;
    if (head.size != 0 && !is_common(head, format_))
      if (const auto function = read_function(at)) functions.emplace_back(function->start, at);
    at = head.id_offset + head.size;
  }
  std::ranges::sort(functions);
  for (const auto& [start, entry] : functions) add_row(start, entry);
}

void FrameEntries::add_row(FileAddress start, std::uint64_t entry) {
  if (table_.empty()) first_function_ = start;
  if (start - first_function_ > UINT32_MAX || entry >= bytes_.size() || entry > UINT32_MAX) return;
  table_.push_back(
      {static_cast<std::uint32_t>(start - first_function_), static_cast<std::uint32_t>(entry)});
}

std::optional<FunctionEntry> FrameEntries::find(FileAddress address) const {
  if (address - first_function_ > UINT32_MAX) return std::nullopt;
  const auto after = std::ranges::upper_bound(
      table_, static_cast<std::uint32_t>(address - first_function_), {}, &TableRow::start);
  if (after == table_.begin()) return std::nullopt;
  const auto function = read_function(std::prev(after)->entry);
  const bool covers = function && address - function->start < function->size;
  return covers ? function : std::nullopt;
}

// The addresses of the table determine which entry find() uses; the entry determines its range.
bool FrameEntries::for_each(std::uint64_t max_steps, const Visitor& visit) const {
  const std::uint64_t steps_before = steps_;
  for (std::size_t i = 0; i < table_.size(); ++i) {
    if (steps_ - steps_before > max_steps) return false;
    const bool is_last = i + 1 == table_.size();
    if (!is_last && table_[i + 1].start < table_[i].start) return false;
    if (!is_last && table_[i + 1].start == table_[i].start) continue;
    const auto function = read_function(table_[i].entry);
    if (!function) continue;
    if (function->start > kHighestAddress || function->size > kHighestAddress) return false;
    const std::uint64_t last = is_last ? std::uint64_t{UINT32_MAX} + 1 : table_[i + 1].start;
    const FileAddress begin = std::max(first_function_ + table_[i].start, function->start);
    const FileAddress end = std::min(first_function_ + last, function->start + function->size);
    if (begin < end && !visit(*function, begin, end)) return false;
  }
  return true;
}

std::optional<FunctionEntry> FrameEntries::read_function(std::uint64_t offset) const {
  steps_ += kStepsPerFunctionEntry;
  ByteCursor cursor(bytes_, offset);
  const EntryHeader head = read_header(cursor, format_);
  if (!cursor.ok() || head.size == 0 || is_common(head, format_)) return std::nullopt;
  const auto common = find_common(format_ == Format::EhFrame ? head.id_offset - head.id : head.id);
  if (!common || head.size > bytes_.size() - head.id_offset) return std::nullopt;
  FunctionEntry function;
  function.common = *common;
  function.start = read_pointer(cursor, common->pointer_encoding);
  function.size = read_encoded(cursor, common->pointer_encoding);
  if (common->has_augmentation) cursor.skip(cursor.read_unsigned_leb());
  function.program = cursor.take(head.id_offset + head.size - cursor.position());
  return cursor.ok() ? std::optional(function) : std::nullopt;
}

std::optional<CommonEntry> FrameEntries::find_common(std::uint64_t offset) const {
  auto known = common_entries_.find(offset);
  if (known == common_entries_.end()) {
    if (common_entries_.size() == kMaxCachedCommonEntries) common_entries_.clear();
    known = common_entries_.emplace(offset, read_common(offset)).first;
  }
  const CachedCommonEntry& common = known->second;
  auto entry = common.entry;
  if (entry)
    entry->program = std::string_view(bytes_).substr(common.program_offset, common.program_size);
  return entry;
}

FrameEntries::CachedCommonEntry FrameEntries::read_common(std::uint64_t offset) const {
  steps_ += kStepsPerCommonEntry;
  ++common_entries_read_;
  ByteCursor cursor(bytes_, offset);
  const EntryHeader head = read_header(cursor, format_);
  if (!cursor.ok() || !is_common(head, format_)) return {};
  CommonEntry common;
  const auto version = cursor.get<std::uint8_t>();
  const std::string_view letters = cursor.text(kMaxAugmentationLetters);
  if (version == 4) cursor.skip(2);  // sizes of an address, and of a segment's number
  common.code_factor = cursor.read_unsigned_leb();
  common.data_factor = cursor.read_signed_leb();
  common.ra_register = version == 1 ? cursor.get<std::uint8_t>() : cursor.read_unsigned_leb();
  common.has_augmentation = letters.starts_with('z');
  if (common.has_augmentation)
    read_augmentation(ByteCursor(cursor.take(cursor.read_unsigned_leb())), letters, common);
  const std::size_t program_at = cursor.position();
  const std::string_view program = cursor.take(head.id_offset + head.size - program_at);
  const bool is_known_version = version == 1 || version == 3 || version == 4;
  const bool is_known_augmentation = letters.empty() || common.has_augmentation;
  if (!cursor.ok() || !is_known_version || !is_known_augmentation) return {};
  return {common, program_at, program.size()};
}

std::uint64_t FrameEntries::read_pointer(ByteCursor& cursor, std::uint8_t encoding) const {
  const FileAddress field_address = address_ + cursor.position();
  if ((encoding & 0xf0) == kPcRelative) return field_address + read_encoded(cursor, encoding);
  return read_encoded(cursor, encoding & 0xf0 ? kInvalidEncoding : encoding);
}

}  // namespace ctprof

#include "core/stacks/go_table.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "core/elf/byte_cursor.hpp"

namespace ctprof {
namespace {

constexpr std::uint32_t kMagic116 = 0xfffffffa, kMagic118 = 0xfffffff0, kMagic120 = 0xfffffff1;
constexpr std::uint8_t kPointerSize = 8;
// Limit on the frame size: a rule cannot express more.
constexpr std::int32_t kMaxFrameSize = std::numeric_limits<std::int32_t>::max() - kPointerSize;
// In bytes; instances of generic functions have long names.
constexpr std::size_t kMaxGoNameSize = 8192;
// The linker's indexes of a table of values and of an item of function data.
constexpr std::uint32_t kInlinedIndex = 2, kInlinedTree = 3;
constexpr std::uint32_t kNoData = UINT32_MAX;

// The runtime switches to another stack and then enters these functions, so their callers are on
// the previous stack.
constexpr std::array<std::string_view, 7> kRootFunctions{
    "runtime.goexit", "runtime.mcall", "runtime.systemstack",          "runtime.mstart",
    "runtime.rt0_go", "crosscall1",    "runtime.asmcgocall_landingpad"};

// This function calls C code on the system stack. Once it has a frame, its caller is on a
// goroutine's stack.
constexpr std::array<std::string_view, 1> kStackSwitchFunctions{"runtime.asmcgocall"};

// Functions that return from a signal on x86-64, and the offsets of the registers in the ucontext
// of the signal frame, from the stack pointer.
constexpr std::array<std::string_view, 2> kSignalReturnFunctions{"runtime.sigreturn__sigaction",
                                                                 "runtime.sigreturn"};
constexpr std::int32_t kSignalSp = 160, kSignalIp = 168, kSignalBp = 120;

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::int32_t decode_zigzag(std::uint64_t value) {
  const auto low = static_cast<std::uint32_t>(value);
  return static_cast<std::int32_t>((low & 1) != 0 ? ~(low >> 1) : low >> 1);
}

}  // namespace

GoTable::GoTable(std::string bytes, FileAddress address, RegisterNumbers registers)
    : bytes_(std::move(bytes)), address_(address), registers_(registers) {
  ByteCursor header(bytes_);
  const auto magic = header.get<std::uint32_t>();
  const auto padding = header.get<std::uint16_t>();
  quantum_ = header.get<std::uint8_t>();
  const auto pointer_size = header.get<std::uint8_t>();
  if (magic != kMagic116 && magic != kMagic118 && magic != kMagic120) return;
  if (padding != 0 || pointer_size != kPointerSize || quantum_ == 0) return;
  format_ = magic == kMagic116 ? Format::Go116 : magic == kMagic118 ? Format::Go118 : Format::Go120;
  const auto functions = header.get<std::uint64_t>();
  header.skip(kPointerSize);  // number of files
  if (is_relative()) text_start_ = header.get<std::uint64_t>();
  names_offset_ = header.get<std::uint64_t>();
  header.skip(kPointerSize);  // compilation units
  files_offset_ = header.get<std::uint64_t>();
  values_offset_ = header.get<std::uint64_t>();
  entries_offset_ = header.get<std::uint64_t>();
  const bool is_ordered = names_offset_ < files_offset_ && files_offset_ <= values_offset_ &&
                          values_offset_ <= entries_offset_;
  if (header.ok() && is_ordered && entries_offset_ < bytes_.size() &&
      functions < (bytes_.size() - entries_offset_) / kPointerSize)
    function_count_ = functions;
}

template <class T>
T GoTable::read_number(std::uint64_t at) const {
  return ByteCursor(bytes_, at).get<T>();
}

// Empty if the text is longer than the limit, or not terminated within the table.
std::string_view GoTable::read_text(std::uint64_t at) const {
  return ByteCursor(bytes_, at).text(kMaxGoNameSize);
}

std::string_view GoTable::get_name(std::int32_t offset) const {
  const std::uint64_t at = names_offset_ + static_cast<std::uint32_t>(offset);
  return offset < 0 || at >= files_offset_ ? std::string_view() : read_text(at);
}

// The entry after the last function is the end of that function.
FileAddress GoTable::read_entry(std::uint64_t index) const {
  return is_relative() ? text_start_ + read_number<std::uint32_t>(entries_offset_ + index * 8)
                       : read_number<std::uint64_t>(entries_offset_ + index * 16);
}

std::optional<GoTable::Function> GoTable::find(FileAddress address) const {
  if (function_count_ == 0 || address < read_entry(0) || address >= read_entry(function_count_))
    return std::nullopt;
  std::uint64_t low = 0, high = function_count_;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (read_entry(middle) <= address ? low : high) = middle;
  }
  return read_function(low);
}

// A function's record: entry, name, size of arguments, return of deferred calls, tables of frame
// sizes, files and lines, number of tables of values, unit, line (since 1.20), kind, flags,
// padding, number of data; then the tables of values, then the data.
GoTable::Function GoTable::read_function(std::uint64_t index) const {
  const std::uint64_t offset = is_relative()
                                   ? read_number<std::uint32_t>(entries_offset_ + index * 8 + 4)
                                   : read_number<std::uint64_t>(entries_offset_ + index * 16 + 8);
  Function found{.entry = read_entry(index), .end = read_entry(index + 1)};
  ByteCursor record(bytes_, offset <= bytes_.size() ? entries_offset_ + offset : bytes_.size());
  record.skip(is_relative() ? 4 : 8);
  found.name = record.get<std::int32_t>();
  record.skip(8);
  found.frame_sizes = record.get<std::uint32_t>();
  record.skip(8);
  const auto values = record.get<std::uint32_t>();
  record.skip(format_ == Format::Go120 ? 8 : 4);
  record.skip(3);
  const auto data = record.get<std::uint8_t>();
  if (!record.ok()) return {};
  if (values > kInlinedIndex)
    found.inlined_index = read_number<std::uint32_t>(record.position() + 4 * kInlinedIndex);
  if (data > kInlinedTree) read_function_data(found, record.position(), values);
  return found;
}

void GoTable::read_function_data(Function& function, std::uint64_t at, std::uint32_t values) const {
  const std::uint64_t data = at + std::uint64_t{4} * values;
  if (is_relative()) {
    function.inlined_tree = read_number<std::uint32_t>(data + 4 * kInlinedTree);
    function.has_tree = function.inlined_tree != kNoData;
  } else {  // pointers, which are aligned as in memory
    const std::uint64_t aligned =
        data + (kPointerSize - (address_ + data) % kPointerSize) % kPointerSize;
    function.inlined_tree = read_number<std::uint64_t>(aligned + kPointerSize * kInlinedTree);
    function.has_tree = function.inlined_tree != 0;
  }
}

// The table has pairs of LEB128 numbers: the difference to the previous value, and the distance to
// the next one. A difference of zero ends the table, except at its beginning.
std::optional<std::int32_t> GoTable::find_value(std::uint32_t table, const Function& function,
                                                FileAddress address) const {
  if (table == 0) return std::nullopt;
  ByteCursor cursor(bytes_, values_offset_ + table);
  FileAddress at = function.entry;
  std::uint32_t current = UINT32_MAX;  // -1
  for (std::size_t step = 0; step < kMaxSteps; ++step) {
    const std::uint64_t difference = cursor.read_unsigned_leb();
    if (difference == 0 && step > 0) return std::nullopt;
    ++steps_;
    current += static_cast<std::uint32_t>(decode_zigzag(difference));
    at += cursor.read_unsigned_leb() * quantum_;
    if (!cursor.ok()) return std::nullopt;
    if (address < at) return static_cast<std::int32_t>(current);
  }
  return std::nullopt;
}

std::string_view GoTable::find_name(FileAddress address) const {
  const auto found = find(address);
  return found ? get_name(found->name) : std::string_view();
}

UnwindRule GoTable::find_rule(FileAddress address) const {
  const auto found = find(address);
  const auto size = found ? find_value(found->frame_sizes, *found, address) : std::nullopt;
  return size ? make_rule(*found, *size) : UnwindRule{};
}

UnwindRule GoTable::make_rule(const Function& found, std::int32_t size) const {
  if (size < 0 || size > kMaxFrameSize) return UnwindRule{};
  UnwindRule rule{.cfa = Cfa::Sp};
  const std::string_view function = get_name(found.name);
  if (is_one_of(kRootFunctions, function)) {
    rule.ra = RegisterLocation::Undefined;
  } else if (is_one_of(kStackSwitchFunctions, function) && size > 0) {
    rule.ra = RegisterLocation::OnOtherStack;
  } else if (registers_.has_link) {
    rule.cfa_offset = size;
    rule.ra = size == 0 ? RegisterLocation::Same : RegisterLocation::AtCfa;
    rule.ra_offset = -size;
  } else if (is_one_of(kSignalReturnFunctions, function)) {
    rule.cfa = Cfa::AtSp;
    rule.cfa_offset = kSignalSp;
    rule.ra = rule.bp = RegisterLocation::AtSp;
    rule.ra_offset = kSignalIp;
    rule.bp_offset = kSignalBp;
    rule.is_signal = true;
  } else {
    rule.cfa_offset = size + kPointerSize;
    rule.ra = RegisterLocation::AtCfa;
    rule.ra_offset = -std::int32_t{kPointerSize};
  }
  return rule;
}

bool GoTable::visit_all_rules(const RuleVisitor& visit) const {
  for (std::uint64_t index = 0; index < function_count_; ++index) {
    const FileAddress start = read_entry(index), end = read_entry(index + 1);
    if (end < start || !visit(start, UnwindRule{})) return false;
    if (start < end && !visit_function_rules(read_function(index), visit)) return false;
  }
  return function_count_ == 0 || visit(read_entry(function_count_), UnwindRule{});
}

// Decodes the same pairs as find_value() for one address.
bool GoTable::visit_function_rules(const Function& function, const RuleVisitor& visit) const {
  if (function.frame_sizes == 0) return true;
  ByteCursor cursor(bytes_, values_offset_ + function.frame_sizes);
  FileAddress at = function.entry;
  std::uint32_t current = UINT32_MAX;
  for (std::size_t step = 0; step < kMaxSteps && at < function.end; ++step) {
    const std::uint64_t difference = cursor.read_unsigned_leb();
    if (difference == 0 && step > 0) break;
    ++steps_;
    current += static_cast<std::uint32_t>(decode_zigzag(difference));
    const FileAddress next = at + cursor.read_unsigned_leb() * quantum_;
    if (!cursor.ok()) break;
    if (next < at) return false;
    if (next > at && !visit(at, make_rule(function, static_cast<std::int32_t>(current))))
      return false;
    at = next;
  }
  return at >= function.end || visit(at, UnwindRule{});
}

// --- inlined functions ---

std::optional<FileAddress> GoTable::find_tree_address(const Function& function,
                                                      FileAddress data) const {
  if (!function.has_tree || function.inlined_index == 0) return std::nullopt;
  if (!is_relative()) return function.inlined_tree;
  return data == 0 ? std::nullopt : std::optional(data + function.inlined_tree);
}

// A node of the tree has, since Go 1.20: kind, padding, name, address in the caller, line. Before:
// index of the caller, kind, padding, file, line, name, address in the caller.
std::optional<GoTable::InlinedCall> GoTable::read_inlined(const ElfFile& file, FileAddress tree,
                                                          std::int32_t index) const {
  const bool is_new = format_ == Format::Go120;
  const std::uint64_t size = is_new ? 16 : 20, name_at = is_new ? 4 : 12;
  const FileAddress at = tree + size * static_cast<std::uint32_t>(index) + name_at;
  const auto stored = index < 0 ? std::nullopt : file.find_stored_bytes(at);
  std::array<std::int32_t, 2> fields{};
  if (!stored || stored->size < sizeof fields ||
      !file.read(stored->offset, fields.data(), sizeof fields))
    return std::nullopt;
  return InlinedCall{fields[0], fields[1]};
}

std::vector<std::string_view> GoTable::find_inlined(const ElfFile& file,
                                                    FileAddress address) const {
  std::vector<std::string_view> found;
  const auto function = find(address);
  const auto tree = function ? find_tree_address(*function, function_data_) : std::nullopt;
  if (!tree) return found;
  auto index = find_value(function->inlined_index, *function, address);
  while (index && *index >= 0 && found.size() < kMaxInlined) {
    const auto node = read_inlined(file, *tree, *index);
    if (!node || node->parent_pc < 0) break;
    const std::string_view callee = get_name(node->name);
    if (callee.empty()) break;
    found.push_back(callee);
    index = find_value(function->inlined_index, *function,
                       function->entry + static_cast<std::uint32_t>(node->parent_pc));
  }
  std::ranges::reverse(found);
  return found;
}

// All checked trees must be valid: at a wrong address, there are zeros or arbitrary data.
bool GoTable::describes_functions(const ElfFile& file, FileAddress data) const {
  constexpr std::uint64_t kMaxCheckedFunctions = 4096;
  constexpr unsigned kSufficientMatches = 16;
  unsigned matches = 0;
  for (std::uint64_t i = 0;
       i < std::min(function_count_, kMaxCheckedFunctions) && matches < kSufficientMatches; ++i) {
    const Function candidate = read_function(i);
    const auto tree = find_tree_address(candidate, data);
    if (!tree) continue;
    const auto node = read_inlined(file, *tree, 0);
    const bool is_valid =
        node && node->name > 0 && !get_name(node->name).empty() &&
        bytes_[names_offset_ + static_cast<std::uint32_t>(node->name) - 1] == '\0' &&
        node->parent_pc >= 0 &&
        static_cast<std::uint32_t>(node->parent_pc) < candidate.end - candidate.entry;
    if (!is_valid) return false;
    ++matches;
  }
  return matches > 0;
}

}  // namespace ctprof

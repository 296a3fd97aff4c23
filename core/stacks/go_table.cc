#include "core/stacks/go_table.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "core/stacks/byte_cursor.hpp"

namespace ctprof {
namespace {

constexpr std::uint32_t kMagic116 = 0xfffffffa, kMagic118 = 0xfffffff0, kMagic120 = 0xfffffff1;
constexpr std::uint8_t kPointerSize = 8;
// Limit on the frame size: a rule cannot express more.
constexpr std::int32_t kLargestFrame = std::numeric_limits<std::int32_t>::max() - kPointerSize;
// In bytes; instances of generic functions have long names.
constexpr std::size_t kLongestGoName = 8192;
// The linker's indexes of a table of values and of an item of function data.
constexpr std::uint32_t kInlinedIndex = 2, kInlinedTree = 3;
constexpr std::uint32_t kNoData = UINT32_MAX;

// The runtime switches to another stack and then enters these functions, so their callers are on
// the previous stack.
constexpr std::array<std::string_view, 7> kRoots{
    "runtime.goexit", "runtime.mcall", "runtime.systemstack",          "runtime.mstart",
    "runtime.rt0_go", "crosscall1",    "runtime.asmcgocall_landingpad"};

// This function calls C code on the system stack. Once it has a frame, its caller is on a
// goroutine's stack.
constexpr std::array<std::string_view, 1> kSwitches{"runtime.asmcgocall"};

// Functions that return from a signal on x86-64, and the offsets of the registers in the ucontext
// of the signal frame, from the stack pointer.
constexpr std::array<std::string_view, 2> kSignalReturns{"runtime.sigreturn__sigaction",
                                                         "runtime.sigreturn"};
constexpr std::int32_t kSignalSp = 160, kSignalIp = 168, kSignalBp = 120;

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::int32_t from_zigzag(std::uint64_t value) {
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
  if (is_relative()) text_ = header.get<std::uint64_t>();
  names_ = header.get<std::uint64_t>();
  header.skip(kPointerSize);  // compilation units
  files_ = header.get<std::uint64_t>();
  values_ = header.get<std::uint64_t>();
  entries_ = header.get<std::uint64_t>();
  const bool is_ordered = names_ < files_ && files_ <= values_ && values_ <= entries_;
  if (header.ok() && is_ordered && entries_ < bytes_.size() &&
      functions < (bytes_.size() - entries_) / kPointerSize)
    functions_ = functions;
}

template <class T>
T GoTable::get(std::uint64_t at) const {
  return ByteCursor(bytes_, at).get<T>();
}

// Empty if the text is longer than the limit, or not terminated within the table.
std::string_view GoTable::text(std::uint64_t at) const {
  return ByteCursor(bytes_, at).text(kLongestGoName);
}

std::string_view GoTable::name(std::int32_t offset) const {
  const std::uint64_t at = names_ + static_cast<std::uint32_t>(offset);
  return offset < 0 || at >= files_ ? std::string_view() : text(at);
}

// The entry after the last function is the end of that function.
FileAddress GoTable::entry(std::uint64_t index) const {
  return is_relative() ? text_ + get<std::uint32_t>(entries_ + index * 8)
                       : get<std::uint64_t>(entries_ + index * 16);
}

std::optional<GoTable::Function> GoTable::find(FileAddress address) const {
  if (functions_ == 0 || address < entry(0) || address >= entry(functions_)) return std::nullopt;
  std::uint64_t low = 0, high = functions_;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (entry(middle) <= address ? low : high) = middle;
  }
  return function(low);
}

// A function's record: entry, name, size of arguments, return of deferred calls, tables of frame
// sizes, files and lines, number of tables of values, unit, line (since 1.20), kind, flags,
// padding, number of data; then the tables of values, then the data.
GoTable::Function GoTable::function(std::uint64_t index) const {
  const std::uint64_t offset = is_relative() ? get<std::uint32_t>(entries_ + index * 8 + 4)
                                             : get<std::uint64_t>(entries_ + index * 16 + 8);
  Function found{.entry = entry(index), .end = entry(index + 1)};
  ByteCursor record(bytes_, offset <= bytes_.size() ? entries_ + offset : bytes_.size());
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
    found.inlined_index = get<std::uint32_t>(record.position() + 4 * kInlinedIndex);
  if (data > kInlinedTree) read_function_data(found, record.position(), values);
  return found;
}

void GoTable::read_function_data(Function& function, std::uint64_t at, std::uint32_t values) const {
  const std::uint64_t data = at + std::uint64_t{4} * values;
  if (is_relative()) {
    function.inlined_tree = get<std::uint32_t>(data + 4 * kInlinedTree);
    function.has_tree = function.inlined_tree != kNoData;
  } else {  // pointers, which are aligned as in memory
    const std::uint64_t aligned =
        data + (kPointerSize - (address_ + data) % kPointerSize) % kPointerSize;
    function.inlined_tree = get<std::uint64_t>(aligned + kPointerSize * kInlinedTree);
    function.has_tree = function.inlined_tree != 0;
  }
}

// The table has pairs of LEB128 numbers: the difference to the previous value, and the distance to
// the next one. A difference of zero ends the table, except at its beginning.
std::optional<std::int32_t> GoTable::value(std::uint32_t table, const Function& function,
                                           FileAddress address) const {
  if (table == 0) return std::nullopt;
  ByteCursor cursor(bytes_, values_ + table);
  FileAddress at = function.entry;
  std::uint32_t now = UINT32_MAX;  // -1
  for (std::size_t step = 0; step < kMostSteps; ++step) {
    const std::uint64_t difference = cursor.unsigned_leb();
    if (difference == 0 && step > 0) return std::nullopt;
    ++steps_;
    now += static_cast<std::uint32_t>(from_zigzag(difference));
    at += cursor.unsigned_leb() * quantum_;
    if (!cursor.ok()) return std::nullopt;
    if (address < at) return static_cast<std::int32_t>(now);
  }
  return std::nullopt;
}

std::string_view GoTable::name_at(FileAddress address) const {
  const auto found = find(address);
  return found ? name(found->name) : std::string_view();
}

Rule GoTable::rule_at(FileAddress address) const {
  const auto found = find(address);
  const auto size = found ? value(found->frame_sizes, *found, address) : std::nullopt;
  return size ? rule_of(*found, *size) : Rule{};
}

Rule GoTable::rule_of(const Function& found, std::int32_t size) const {
  if (size < 0 || size > kLargestFrame) return Rule{};
  Rule rule{.cfa = Cfa::Sp};
  const std::string_view function = name(found.name);
  if (is_one_of(kRoots, function)) {
    rule.ra = Saved::Nowhere;
  } else if (is_one_of(kSwitches, function) && size > 0) {
    rule.ra = Saved::Elsewhere;
  } else if (registers_.has_link) {
    rule.cfa_offset = size;
    rule.ra = size == 0 ? Saved::Same : Saved::AtCfa;
    rule.ra_offset = -size;
  } else if (is_one_of(kSignalReturns, function)) {
    rule.cfa = Cfa::AtSp;
    rule.cfa_offset = kSignalSp;
    rule.ra = rule.bp = Saved::AtSp;
    rule.ra_offset = kSignalIp;
    rule.bp_offset = kSignalBp;
    rule.is_signal = true;
  } else {
    rule.cfa_offset = size + kPointerSize;
    rule.ra = Saved::AtCfa;
    rule.ra_offset = -std::int32_t{kPointerSize};
  }
  return rule;
}

bool GoTable::for_each_rule(const RuleVisitor& visit) const {
  for (std::uint64_t index = 0; index < functions_; ++index) {
    const FileAddress start = entry(index), end = entry(index + 1);
    if (end < start || !visit(start, Rule{})) return false;
    if (start < end && !visit_rules_of(function(index), visit)) return false;
  }
  return functions_ == 0 || visit(entry(functions_), Rule{});
}

// Decodes the same pairs as find_value() for one address.
bool GoTable::visit_rules_of(const Function& function, const RuleVisitor& visit) const {
  if (function.frame_sizes == 0) return true;
  ByteCursor cursor(bytes_, values_ + function.frame_sizes);
  FileAddress at = function.entry;
  std::uint32_t now = UINT32_MAX;
  for (std::size_t step = 0; step < kMostSteps && at < function.end; ++step) {
    const std::uint64_t difference = cursor.unsigned_leb();
    if (difference == 0 && step > 0) break;
    ++steps_;
    now += static_cast<std::uint32_t>(from_zigzag(difference));
    const FileAddress next = at + cursor.unsigned_leb() * quantum_;
    if (!cursor.ok()) break;
    if (next < at) return false;
    if (next > at && !visit(at, rule_of(function, static_cast<std::int32_t>(now)))) return false;
    at = next;
  }
  return at >= function.end || visit(at, Rule{});
}

// --- inlined functions ---

std::optional<FileAddress> GoTable::tree_address(const Function& function, FileAddress data) const {
  if (!function.has_tree || function.inlined_index == 0) return std::nullopt;
  if (!is_relative()) return function.inlined_tree;
  return data == 0 ? std::nullopt : std::optional(data + function.inlined_tree);
}

// A node of the tree has, since Go 1.20: kind, padding, name, address in the caller, line. Before:
// index of the caller, kind, padding, file, line, name, address in the caller.
std::optional<GoTable::Inlined> GoTable::inlined(const ElfFile& file, FileAddress tree,
                                                 std::int32_t index) const {
  const bool is_new = format_ == Format::Go120;
  const std::uint64_t size = is_new ? 16 : 20, name_at = is_new ? 4 : 12;
  const FileAddress at = tree + size * static_cast<std::uint32_t>(index) + name_at;
  const auto place = index < 0 ? std::nullopt : file.place_of(at);
  std::array<std::int32_t, 2> read{};
  if (!place || place->size < sizeof read || !file.read(place->offset, read.data(), sizeof read))
    return std::nullopt;
  return Inlined{read[0], read[1]};
}

std::vector<std::string_view> GoTable::inlined_at(const ElfFile& file, FileAddress address) const {
  std::vector<std::string_view> found;
  const auto function = find(address);
  const auto tree = function ? tree_address(*function, function_data_) : std::nullopt;
  if (!tree) return found;
  auto index = value(function->inlined_index, *function, address);
  while (index && *index >= 0 && found.size() < kMostInlined) {
    const auto node = inlined(file, *tree, *index);
    if (!node || node->parent_pc < 0) break;
    const std::string_view called = name(node->name);
    if (called.empty()) break;
    found.push_back(called);
    index = value(function->inlined_index, *function,
                  function->entry + static_cast<std::uint32_t>(node->parent_pc));
  }
  std::ranges::reverse(found);
  return found;
}

// All checked trees must be valid: at a wrong address, there are zeros or arbitrary data.
bool GoTable::describes_functions(const ElfFile& file, FileAddress data) const {
  constexpr std::uint64_t kMostLookedAt = 4096;
  constexpr unsigned kEnough = 16;
  unsigned right = 0;
  for (std::uint64_t i = 0; i < std::min(functions_, kMostLookedAt) && right < kEnough; ++i) {
    const Function at = function(i);
    const auto tree = tree_address(at, data);
    if (!tree) continue;
    const auto node = inlined(file, *tree, 0);
    const bool is_right = node && node->name > 0 && !name(node->name).empty() &&
                          bytes_[names_ + static_cast<std::uint32_t>(node->name) - 1] == '\0' &&
                          node->parent_pc >= 0 &&
                          static_cast<std::uint32_t>(node->parent_pc) < at.end - at.entry;
    if (!is_right) return false;
    ++right;
  }
  return right > 0;
}

}  // namespace ctprof

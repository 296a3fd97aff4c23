#include "core/stacks/address_space.hpp"

#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "ctprof/files.hpp"

namespace ctprof {
namespace {

// A process has some hundred. Each new one may move all that are above it.
constexpr std::size_t kMostRanges = 16384;

bool number_in(std::string_view text, int base, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

bool device_in(std::string_view text, std::uint64_t& device) {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  if (!number_in(sdk::take(text, ':'), 16, major) || !number_in(text, 16, minor)) return false;
  device = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
  return true;
}

// 7f5c3a200000-7f5c3a228000 r-xp 00028000 fd:01 1835034                    /usr/lib/libc.so.6
std::optional<Mapping> mapping_in(std::string_view line, bool only_code) {
  std::string_view range = sdk::take(line, ' ');
  const std::string_view rights = sdk::take(line, ' ');
  const std::string_view offset = sdk::take(line, ' ');
  const std::string_view device = sdk::take(line, ' ');
  const std::string_view inode = sdk::take(line, ' ');
  if (rights.size() != 4 || (only_code && rights[2] != 'x')) return std::nullopt;
  Mapping mapping;
  const bool whole = number_in(sdk::take(range, '-'), 16, mapping.start) &&
                     number_in(range, 16, mapping.end) && number_in(offset, 16, mapping.offset) &&
                     device_in(device, mapping.file.device) &&
                     number_in(inode, 10, mapping.file.inode) && mapping.start < mapping.end;
  if (!whole) return std::nullopt;
  mapping.path = sdk::trimmed(line);
  return mapping;
}

}  // namespace

std::vector<Mapping> code_mappings(std::string_view maps) {
  std::vector<Mapping> mappings;
  while (!maps.empty() && mappings.size() < kMostRanges)
    if (auto mapping = mapping_in(sdk::take(maps, '\n'), true))
      mappings.push_back(std::move(*mapping));
  return mappings;
}

std::optional<Mapping> mapping_at(std::string_view maps, std::uint64_t start) {
  while (!maps.empty())
    if (auto mapping = mapping_in(sdk::take(maps, '\n'), false); mapping && mapping->start == start)
      return mapping;
  return std::nullopt;
}

void AddressSpace::map(const CodeRange& range) {
  const auto first = std::ranges::upper_bound(ranges_, range.start, {}, &CodeRange::end);
  const auto last = std::ranges::lower_bound(ranges_, range.end, {}, &CodeRange::start);
  std::vector<CodeRange> pieces;
  if (first < last && first->start < range.start) {
    pieces.push_back(*first);
    pieces.back().end = range.start;
  }
  pieces.push_back(range);
  if (first < last && std::prev(last)->end > range.end) {
    pieces.push_back(*std::prev(last));
    pieces.back().offset += range.end - pieces.back().start;
    pieces.back().start = range.end;
  }
  if (ranges_.size() + pieces.size() > kMostRanges) return;
  ranges_.insert(ranges_.erase(first, last), pieces.begin(), pieces.end());
}

const CodeRange* AddressSpace::find(std::uint64_t address) const {
  const auto found = std::ranges::upper_bound(ranges_, address, {}, &CodeRange::end);
  return found != ranges_.end() && found->start <= address ? &*found : nullptr;
}

}  // namespace ctprof

#include "core/stacks/address_space.hpp"

#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "ctprof/files.hpp"

namespace ctprof {
namespace {

// A process has some hundred ranges. Inserting one may move all ranges above it.
constexpr std::size_t kMaxRanges = 16384;
// Limit on anonymous mappings in one gap that are checked for a copy of the file.
constexpr std::size_t kMaxMappingsInGap = 64;

bool parse_number(std::string_view text, int base, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

bool parse_device(std::string_view text, std::uint64_t& device) {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  if (!parse_number(sdk::take(text, ':'), 16, major) || !parse_number(text, 16, minor))
    return false;
  device = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
  return true;
}

struct MapsLine {
  Mapping mapping;
  bool is_code = false;
};

// 7f5c3a200000-7f5c3a228000 r-xp 00028000 fd:01 1835034                    /usr/lib/libc.so.6
std::optional<MapsLine> parse_maps_line(std::string_view line) {
  std::string_view range = sdk::take(line, ' ');
  const std::string_view rights = sdk::take(line, ' ');
  const std::string_view offset = sdk::take(line, ' ');
  const std::string_view device = sdk::take(line, ' ');
  const std::string_view inode = sdk::take(line, ' ');
  if (rights.size() != 4) return std::nullopt;
  MapsLine parsed{{}, rights[2] == 'x'};
  Mapping& mapping = parsed.mapping;
  const bool is_complete =
      parse_number(sdk::take(range, '-'), 16, mapping.start) &&
      parse_number(range, 16, mapping.end) && parse_number(offset, 16, mapping.offset) &&
      parse_device(device, mapping.file.device) && parse_number(inode, 10, mapping.file.inode) &&
      mapping.start < mapping.end;
  if (!is_complete) return std::nullopt;
  mapping.path = sdk::trimmed(line);
  return parsed;
}

bool is_anonymous(const MapsLine& line) {
  return line.mapping.file.inode == 0 ? line.mapping.path.empty()
                                      : line.mapping.path.starts_with("/anon_hugepage");
}

bool continues_file(const Mapping& before, const Mapping& after, std::uint64_t gap) {
  return before.file.inode != 0 && before.file == after.file && after.start == before.end + gap &&
         after.offset == before.offset + (before.end - before.start) + gap;
}

// Turns the inner lines into mappings of the file if they are anonymous memory that exactly fills
// the gap between the first and the last line.
void fill_gap(std::span<MapsLine> lines) {
  const Mapping &before = lines.front().mapping, &after = lines.back().mapping;
  if (lines.size() < 3 || !continues_file(before, after, after.start - before.end)) return;
  std::uint64_t end = before.end;
  for (const MapsLine& line : lines.subspan(1, lines.size() - 2)) {
    if (line.mapping.start != end) return;
    end = line.mapping.end;
  }
  if (end != after.start) return;
  for (MapsLine& line : lines.subspan(1, lines.size() - 2)) {
    line.mapping.offset = before.offset + (line.mapping.start - before.start);
    line.mapping.file = before.file;
    line.mapping.path = before.path;
  }
}

}  // namespace

std::string_view remove_deleted_suffix(std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return path;
}

bool is_memory_file(std::string_view path) { return path.starts_with("/memfd:"); }

std::vector<Mapping> parse_code_mappings(std::string_view maps) {
  std::vector<Mapping> mappings;
  std::vector<MapsLine> pending;  // a file mapping, then anonymous ones
  const auto flush_pending = [&] {
    for (MapsLine& line : pending)
      if (line.is_code && mappings.size() < kMaxRanges) mappings.push_back(std::move(line.mapping));
    pending.clear();
  };
  while (!maps.empty() && mappings.size() < kMaxRanges) {
    auto line = parse_maps_line(sdk::take(maps, '\n'));
    if (!line) continue;
    const bool is_in_gap =
        !pending.empty() && pending.size() < kMaxMappingsInGap && is_anonymous(*line);
    if (is_in_gap) {
      pending.push_back(std::move(*line));
      continue;
    }
    if (!pending.empty()) {
      pending.push_back(*line);
      fill_gap(pending);
      pending.pop_back();
    }
    flush_pending();
    pending.push_back(std::move(*line));
  }
  flush_pending();
  return mappings;
}

std::optional<Mapping> find_mapping(std::string_view maps, std::uint64_t start) {
  while (!maps.empty())
    if (auto line = parse_maps_line(sdk::take(maps, '\n')); line && line->mapping.start == start)
      return std::move(line->mapping);
  return std::nullopt;
}

void AddressSpace::add_mapping(const CodeRange& range) {
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
  if (ranges_.size() + pieces.size() > kMaxRanges) return;
  ranges_.insert(ranges_.erase(first, last), pieces.begin(), pieces.end());
}

const CodeRange* AddressSpace::find(std::uint64_t address) const {
  const auto found = std::ranges::upper_bound(ranges_, address, {}, &CodeRange::end);
  return found != ranges_.end() && found->start <= address ? &*found : nullptr;
}

}  // namespace ctprof

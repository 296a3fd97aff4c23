#include "plugins/jemalloc-ptrace/finder/mappings.hpp"

#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "ctprof/files.hpp"

namespace ctprof::jemalloc {
namespace {

constexpr std::string_view kDeleted = " (deleted)";
constexpr std::string_view kNewline = "\\012";

struct Line {
  Mapping mapping;
  std::string_view range;
  std::string_view path;
  bool code = false;
};

bool number_in(std::string_view text, int base, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

bool parse_range(std::string_view text, Mapping& mapping) {
  return number_in(sdk::take(text, '-'), 16, mapping.start) && number_in(text, 16, mapping.end) && mapping.start < mapping.end;
}

bool parse_file(std::string_view device, std::string_view inode, FileId& file) {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  if (!number_in(sdk::take(device, ':'), 16, major) || !number_in(device, 16, minor)) return false;
  file.device = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
  return number_in(inode, 10, file.inode);
}

std::optional<Line> parse_line(std::string_view text) {
  Line line;
  line.range = sdk::take(text, ' ');
  const std::string_view rights = sdk::take(text, ' ');
  const std::string_view offset = sdk::take(text, ' ');
  const std::string_view device = sdk::take(text, ' ');
  const std::string_view inode = sdk::take(text, ' ');
  line.code = rights.size() == 4 && rights[2] == 'x';
  const auto path = text.find_first_not_of(' ');
  if (path != text.npos) line.path = text.substr(path);
  const bool whole = parse_range(line.range, line.mapping) && number_in(offset, 16, line.mapping.offset) &&
                     parse_file(device, inode, line.mapping.file);
  return whole ? std::optional(line) : std::nullopt;
}

std::string unescaped(std::string_view path) {
  std::string plain(path);
  for (auto at = plain.find(kNewline); at != plain.npos; at = plain.find(kNewline, at + 1))
    plain.replace(at, kNewline.size(), "\n");
  return plain;
}

MappedFile file_of(const Line& line, const Mapping& lowest) {
  std::string_view path = line.path;
  const bool deleted = path.ends_with(kDeleted);
  if (deleted) path.remove_suffix(kDeleted.size());
  return {line.mapping.file, unescaped(path), deleted, std::string(line.range), lowest};
}

}  // namespace

std::vector<MappedFile> code_files(std::string_view maps) {
  std::vector<MappedFile> files;
  Mapping lowest;  // of the run of mappings of one file that we are in
  while (!maps.empty()) {
    const auto line = parse_line(sdk::take(maps, '\n'));
    if (!line || line->mapping.file.inode == 0) continue;
    if (line->mapping.file != lowest.file) lowest = line->mapping;
    if (!line->code) continue;
    const bool known = std::any_of(files.begin(), files.end(), [&](const MappedFile& f) { return f.file == line->mapping.file; });
    if (!known) files.push_back(file_of(*line, lowest));
  }
  return files;
}

}  // namespace ctprof::jemalloc

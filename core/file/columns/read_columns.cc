#include "core/file/columns/read_columns.hpp"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/base/json_writer.hpp"
#include "core/base/workers.hpp"
#include "core/file/columns/lines.hpp"
#include "core/file/columns/table_line.hpp"
#include "core/file/columns/write_columns.hpp"
#include "core/file/layout/field_io.hpp"
#include "core/file/layout/limits.hpp"
#include "core/file/layout/registry_part.hpp"
#include "core/registry/identity.hpp"

namespace ctprof::columns {
namespace {

namespace json = boost::json;

constexpr std::array kAllEntities{Entity::Thread, Entity::Process, Entity::Cgroup, Entity::Host};
constexpr std::array<std::size_t, kEntities> kMostRows{limits::kThreads, limits::kThreads,
                                                       limits::kCgroups, 1};

Error at_line(std::size_t line, const std::string& what) {
  return {"line " + std::to_string(line + 1) + " " + what};
}

// A line that is not a table: its members by key, as they stand, and without blanks.
using Members = std::map<std::string, RawJson, std::less<>>;

Result<Members> parse_line(std::string_view text) {
  Members members;
  Scanner in(text);
  for (in.enter('{'); in.next('}');) {
    std::string key(in.key());
    const std::string_view value = in.skip();
    if (in.failed()) break;
    if (!members.emplace(std::move(key), compact(value)).second) in.fail("a key is there twice");
  }
  if (!in.failed() && !in.at_end()) in.fail("more than one value");
  if (in.failed()) return Error{"is wrong: " + in.why()};
  return members;
}

// The value of sound JSON; null where there is none of that key.
json::value value_of(const Members& line, std::string_view key) {
  const auto found = line.find(key);
  if (found == line.end()) return nullptr;
  boost::system::error_code failed;
  json::parse_options options;
  options.max_depth = limits::kDepth;
  json::value value = json::parse(found->second, failed, {}, options);
  return failed ? json::value() : value;
}

// The line again, its keys in order.
RawJson json_of(const Members& line) {
  JsonWriter out;
  out.put('{');
  for (const auto& [key, value] : line) out.key(key), out.raw(value), out.put(',');
  out.close('}');
  return RawJson(out.view());
}

std::string kind_of(const Members& line) {
  const json::value kind = value_of(line, "kind");
  return kind.is_string() ? std::string(std::string_view(kind.get_string())) : "";
}

std::uint64_t number_in(const Members& line, std::string_view key) {
  const json::value found = value_of(line, key);
  boost::system::error_code failed;
  const auto number = found.is_null() ? 0 : found.to_number<std::uint64_t>(failed);
  return failed ? 0 : number;
}

// The rows of each line that the header announces, in their order.
Result<std::vector<Piece>> read_plan(const Members& header) {
  std::vector<Piece> pieces;
  const json::value tables = value_of(header, "tables");
  if (!tables.is_object()) return Error{"has no object of tables"};
  for (const Entity entity : kAllEntities) {
    const json::value* rows = tables.get_object().if_contains(name(entity));
    if (!rows) continue;
    if (!rows->is_array()) return Error{"has tables that are no lists of numbers"};
    std::size_t first = 0;
    for (const json::value& item : rows->get_array()) {
      boost::system::error_code failed;
      const auto count = item.to_number<std::uint64_t>(failed);
      const std::size_t most = kMostRows[static_cast<std::size_t>(entity)];
      if (failed || count == 0) return Error{"has tables that are no lists of rows"};
      if (count > most - first)
        return Error{"announces more than " + std::to_string(most) + " rows of " +
                     std::string(name(entity))};
      pieces.push_back({entity, first, count});
      first += count;
    }
  }
  return pieces;
}

// What top-level keys of header and summary mean to this version.
bool is_known(std::string_view key) {
  constexpr std::array kKnown{std::string_view("kind"),      std::string_view("format"),
                              std::string_view("ctprof"),    std::string_view("registry"),
                              std::string_view("gap_names"), std::string_view("tables")};
  return std::find(kKnown.begin(), kKnown.end(), key) != kKnown.end();
}

void keep_objects(const Members& line, Snapshot& snapshot) {
  for (const auto& [key, value] : line)
    if (!is_known(key)) snapshot.objects[key] = value;
}

Result<void> read_meta(const Members& line, Snapshot& snapshot) {
  const json::value meta = value_of(line, "ctprof");
  if (meta.is_null()) return Error{"has no ctprof object"};
  FieldReader reader("ctprof");
  reader.object(meta, snapshot.meta);
  return reader.complaint().empty() ? Result<void>() : Error{"is wrong: " + reader.complaint()};
}

Result<void> make_columns(const Members& header, Snapshot& snapshot) {
  const auto found = header.find("registry");
  if (found == header.end()) return Error{"has no registry"};
  auto registry = read_registry(found->second);
  if (!registry) return Error{"is wrong: " + registry.error().text};
  for (auto& [def, provenance] : registry->metrics) {
    Table& table = snapshot.table(def.entity);
    table.add(std::move(def), Gap::NotInFile).provenance = std::move(provenance);
  }
  snapshot.derived = std::move(registry->derived);
  return {};
}

// --- what must hold of the rows, whoever wrote them ---

Result<void> check_full(const Snapshot& snapshot, Entity entity, std::string_view name) {
  const Table& table = snapshot.table(entity);
  const Column* column = table.find(name);
  if (table.rows == 0) return {};
  if (!column)
    return Error{"the registry has no '" + std::string(name) + "', without which rows of " +
                 std::string(ctprof::name(entity)) + " cannot be told apart"};
  const auto missing = std::find_if(column->gaps().begin(), column->gaps().end(),
                                    [](ctprof_gap gap) { return gap != CTPROF_VALUE; });
  if (missing == column->gaps().end()) return {};
  return Error{"row " + std::to_string(missing - column->gaps().begin()) + " of " +
               std::string(ctprof::name(entity)) + " has no " + std::string(name)};
}

Error out_of_order(Entity entity, std::size_t row) {
  return {"row " + std::to_string(row) + " of " + std::string(name(entity)) + " is out of order"};
}

Result<void> check_threads(const Snapshot& snapshot) {
  const Table& threads = snapshot.threads();
  if (threads.rows == 0) return {};
  const auto tgid = threads.find(kTgid)->u64(), tid = threads.find(kTid)->u64();
  for (std::size_t row = 1; row < threads.rows; ++row)
    if (std::pair(tgid[row - 1], tid[row - 1]) > std::pair(tgid[row], tid[row]))
      return out_of_order(Entity::Thread, row);
  return {};
}

// Processes are those of the threads, in the same order.
Result<void> check_processes(const Snapshot& snapshot) {
  const Table &threads = snapshot.threads(), &processes = snapshot.table(Entity::Process);
  if (processes.rows == 0) return {};
  const auto of_process = processes.find(kProcessTgid)->u64();
  const auto of_thread = threads.rows > 0 ? threads.find(kTgid)->u64() : of_process.first(0);
  std::size_t next = 0;
  for (std::size_t row = 0; row < of_thread.size(); ++row) {
    if (row > 0 && of_thread[row] == of_thread[row - 1]) continue;
    if (next == of_process.size() || of_process[next++] != of_thread[row])
      return Error{"the processes are not those of the threads"};
  }
  return next == of_process.size() ? Result<void>()
                                   : Error{"the processes are not those of the threads"};
}

Result<void> check_cgroups(const Snapshot& snapshot) {
  const Table& cgroups = snapshot.table(Entity::Cgroup);
  if (cgroups.rows == 0) return {};
  const auto ids = cgroups.find(kCgroupPath)->ids();
  for (std::size_t row = 1; row < cgroups.rows; ++row)
    if (snapshot.pools->texts[ids[row - 1]] > snapshot.pools->texts[ids[row]])
      return out_of_order(Entity::Cgroup, row);
  return {};
}

Result<void> check_rows(const Snapshot& snapshot) {
  for (const auto& [entity, name] :
       {std::pair{Entity::Thread, kTgid}, std::pair{Entity::Thread, kTid},
        std::pair{Entity::Process, kProcessTgid}, std::pair{Entity::Cgroup, kCgroupPath}})
    if (auto fine = check_full(snapshot, entity, name); !fine) return fine;
  if (auto fine = check_threads(snapshot); !fine) return fine;
  if (auto fine = check_processes(snapshot); !fine) return fine;
  return check_cgroups(snapshot);
}

void sort_kept(Snapshot& snapshot) {
  for (KeptKeys& kept : snapshot.unknown_keys)
    for (auto& [path, cells] : kept)
      std::sort(cells.begin(), cells.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
}

// --- a block ---

// One block after the other.
class Reader {
 public:
  Reader(std::string_view zstd, std::span<const Frame> frames, unsigned workers)
      : zstd_(zstd), frames_(frames), workers_(std::max(workers, 1u)) {}

  bool at_end() const { return next_ == frames_.size(); }
  // The next block; nothing where the file ends before it does.
  Result<std::optional<Snapshot>> read();

 private:
  Result<Members> line();
  Result<std::vector<Piece>> read_header(Snapshot& snapshot);
  Result<void> read_tables(std::span<const Piece> pieces, Snapshot& snapshot,
                           std::size_t text_bytes);
  Result<bool> read_rest(Snapshot& snapshot);
  Result<void> check_end(const Members& end) const;
  std::size_t text_until(std::size_t frame) const;

  std::string_view zstd_;
  std::span<const Frame> frames_;
  unsigned workers_;
  Unfolder unfolder_;
  std::size_t next_ = 0;   // of the frames
  std::size_t first_ = 0;  // of this block's
};

// Takes the next line, which is no table.
Result<Members> Reader::line() {
  const auto text = unfolder_.unfold(zstd_, frames_[next_]);
  if (!text) return text.error();
  auto parsed = parse_line(*text);
  if (!parsed) return at_line(next_, parsed.error().text);
  ++next_;
  return parsed;
}

std::size_t Reader::text_until(std::size_t frame) const {
  std::size_t bytes = 0;
  for (std::size_t i = first_; i < frame; ++i) bytes += frames_[i].text_bytes;
  return bytes;
}

Result<std::vector<Piece>> Reader::read_header(Snapshot& snapshot) {
  const auto header = line();
  if (!header) return header.error();
  if (kind_of(*header) != "header")
    return at_line(
        first_, "is of kind '" + kind_of(*header).substr(0, 40) + "' where a block should begin");
  const std::uint64_t format = number_in(*header, "format");
  if (format != kFormat)
    return Error{"it is of format " + std::to_string(format) + "; this ctprof reads up to " +
                 std::to_string(kFormat)};
  if (auto done = read_meta(*header, snapshot); !done) return at_line(first_, done.error().text);
  if (auto done = make_columns(*header, snapshot); !done) return at_line(first_, done.error().text);
  keep_objects(*header, snapshot);
  auto pieces = read_plan(*header);
  if (!pieces) return at_line(first_, pieces.error().text);
  return pieces;
}

Result<void> Reader::read_tables(std::span<const Piece> pieces, Snapshot& snapshot,
                                 std::size_t text_bytes) {
  TableReader tables(snapshot, text_bytes);
  struct Hand {
    explicit Hand(Snapshot& snapshot) : worker(snapshot) {}
    Unfolder unfolder;
    TableReader::Worker worker;
  };
  std::vector<std::optional<Hand>> hands(workers_);
  std::mutex failing;
  std::optional<std::pair<std::size_t, Error>> failure;  // the first line's that is wrong
  const auto read = [&](Hand& hand, std::size_t piece) -> Result<void> {
    const auto text = hand.unfolder.unfold(zstd_, frames_[next_ + piece]);
    if (!text) return text.error();
    auto done = tables.read(*text, pieces[piece], hand.worker);
    return done ? done : at_line(next_ + piece, done.error().text);
  };
  share(workers_, pieces.size(), [&](unsigned worker, std::size_t piece) {
    if (!hands[worker]) hands[worker].emplace(snapshot);
    const auto done = read(*hands[worker], piece);
    if (done) return;
    const std::lock_guard lock(failing);
    if (!failure || piece < failure->first) failure.emplace(piece, done.error());
  });
  if (failure) return failure->second;
  next_ += pieces.size();
  return {};
}

Result<void> Reader::check_end(const Members& end) const {
  const std::uint64_t lines = next_ - first_, bytes = text_until(next_ - 1);
  if (number_in(end, "lines") == lines && number_in(end, "bytes") == bytes) return {};
  return at_line(next_ - 1, "says that the block has " + std::to_string(number_in(end, "lines")) +
                                " lines and " + std::to_string(number_in(end, "bytes")) +
                                " bytes, but it has " + std::to_string(lines) + " and " +
                                std::to_string(bytes));
}

// What stands behind the tables, to the block's end. False where the file ends before.
Result<bool> Reader::read_rest(Snapshot& snapshot) {
  bool has_summary = false;
  while (!at_end()) {
    const auto found = line();
    if (!found) return found.error();
    const std::string kind = kind_of(*found);
    if (kind == "end") {
      if (!has_summary) return at_line(next_ - 1, "ends a block that has no summary");
      if (auto fine = check_end(*found); !fine) return fine.error();
      return true;
    }
    if (kind == "header" || kind == "table" || kind.empty() || has_summary)
      return at_line(next_ - 1, "is of kind '" + kind.substr(0, 40) + "' out of order");
    has_summary = kind == "summary";
    if (!has_summary) {
      snapshot.unknown_lines.push_back(json_of(*found));
      continue;
    }
    if (auto done = read_meta(*found, snapshot); !done)
      return at_line(next_ - 1, done.error().text);
    keep_objects(*found, snapshot);
  }
  return false;
}

Result<std::optional<Snapshot>> Reader::read() {
  first_ = next_;
  Snapshot snapshot;
  const auto pieces = read_header(snapshot);
  if (!pieces) return pieces.error();
  if (pieces->size() > frames_.size() - next_) return std::optional<Snapshot>();
  const std::size_t text_bytes = text_until(next_ + pieces->size());
  TableReader::Rows rows;
  for (const Piece& piece : *pieces) rows.of[static_cast<std::size_t>(piece.entity)] += piece.rows;
  if (auto done = TableReader::prepare(snapshot, rows, text_bytes); !done) return done.error();
  if (auto done = read_tables(*pieces, snapshot, text_bytes); !done) return done.error();
  const auto whole = read_rest(snapshot);
  if (!whole) return whole.error();
  if (!*whole) return std::optional<Snapshot>();
  if (auto fine = check_rows(snapshot); !fine) return fine.error();
  sort_kept(snapshot);
  snapshot.text_bytes = text_until(next_);
  return std::optional(std::move(snapshot));
}

}  // namespace

bool is_columns(std::string_view zstd) {
  std::array<char, 64> text{};
  ZSTD_DStream* const stream = ZSTD_createDStream();
  ZSTD_inBuffer in{zstd.data(), zstd.size(), 0};
  ZSTD_outBuffer out{text.data(), text.size(), 0};
  while (stream && out.pos < kBeginning.size() && in.pos < in.size)
    if (ZSTD_isError(ZSTD_decompressStream(stream, &out, &in))) break;
  ZSTD_freeDStream(stream);
  return std::string_view(text.data(), out.pos).starts_with(kBeginning);
}

Result<Blocks> read_blocks(std::string_view zstd, unsigned workers) {
  const auto frames = find_frames(zstd);
  if (!frames) return frames.error();
  Blocks blocks;
  blocks.torn = frames->torn;
  Reader reader(zstd, frames->whole, workers);
  while (!reader.at_end()) {
    auto block = reader.read();
    if (!block) return block.error();
    if (*block)
      blocks.snapshots.push_back(std::move(**block));
    else
      blocks.torn = true;
    if (!*block) break;
  }
  if (blocks.snapshots.empty()) return Error{"it was cut: it has no end"};
  return blocks;
}

}  // namespace ctprof::columns

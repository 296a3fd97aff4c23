#include "core/capture/summaries.hpp"

#include <string>
#include <string_view>

#include "core/file/json_out.hpp"

namespace ctprof {
namespace {

// Builds one object out of dotted keys that come in order: "a", "b.c", "b.d".
class SummaryObject {
 public:
  explicit SummaryObject(Meta& meta) : meta_(meta) { out_.put('{'); }

  static void put_u64(void* core, const char* key, std::uint64_t value) {
    self(core).at(key).number(value), self(core).out_.put(',');
  }
  static void put_bool(void* core, const char* key, std::uint32_t value) {
    self(core).at(key).boolean(value != 0), self(core).out_.put(',');
  }
  static void put_text(void* core, const char* key, const char* data, std::size_t size) {
    JsonOut& out = self(core).at(key);
    data ? out.text({data, size}) : out.raw("null");
    out.put(',');
  }
  static void note(void* core, const char* data, std::size_t size) { self(core).meta_.notes.emplace_back(data, size); }

  RawJson finish() {
    enter("");
    out_.close('}');
    return RawJson(out_.view());
  }

 private:
  static SummaryObject& self(void* core) { return *static_cast<SummaryObject*>(core); }

  // Opens the inner object that the key needs, writes the key's last part, and gives the place for its value.
  JsonOut& at(std::string_view key) {
    const auto dot = key.find('.');
    enter(dot == key.npos ? "" : key.substr(0, dot));
    out_.key(dot == key.npos ? key : key.substr(dot + 1));
    return out_;
  }

  void enter(std::string_view inner) {
    if (inner == inner_) return;
    if (!inner_.empty()) out_.close('}'), out_.put(',');
    inner_ = inner;
    if (inner_.empty()) return;
    out_.key(inner_);
    out_.put('{');
  }

  Meta& meta_;
  JsonOut out_;
  std::string inner_;
};

}  // namespace

void summarise(std::deque<SourceRun>& sources, Snapshot& snapshot) {
  for (SourceRun& run : sources) {
    snapshot.meta.sources.push_back(run.finish());
    const ctprof_source& table = run.source().table;
    if (!table.summarise) continue;
    SummaryObject object(snapshot.meta);
    const ctprof_summary summary{.size = sizeof(ctprof_summary),
                                 .tallies_count = table.tallies_count,
                                 .tallies = run.tallies().data(),
                                 .rows_listed = snapshot.meta.rows_listed,
                                 .rows_absent = snapshot.meta.rows_absent,
                                 .core = &object,
                                 .put_u64 = &SummaryObject::put_u64,
                                 .put_bool = &SummaryObject::put_bool,
                                 .put_text = &SummaryObject::put_text,
                                 .note = &SummaryObject::note};
    table.summarise(&summary);
    if (RawJson text = object.finish(); table.summary_key) snapshot.objects[table.summary_key] = std::move(text);
  }
}

}  // namespace ctprof

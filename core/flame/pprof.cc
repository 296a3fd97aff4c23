// Writes pprof's profile: https://github.com/google/pprof/blob/main/proto/profile.proto, compressed
// with gzip.
//
// Frames have file offsets, but pprof requires addresses in memory. So each file gets its own
// address range, which begins at its first byte: the offset is the address minus the start of the
// range. The kernel and code without a file keep their addresses.

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/flame/stack_formats.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace pprof {
namespace {

// Field numbers.
enum Profile {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kDefaultSampleType = 14
};
enum ValueType { kType = 1, kUnit = 2 };
enum Sample { kLocationId = 1, kValue = 2, kLabel = 3 };
enum Label { kKey = 1, kText = 2, kNumber = 3 };
enum Mapping {
  kMappingId = 1,
  kStart = 2,
  kLimit = 3,
  kFilename = 5,
  kBuildId = 6,
  kHasFunctions = 7
};
enum Location { kId = 1, kLocationMapping = 2, kAddress = 3, kLine = 4 };
enum Line { kLineFunction = 1 };
enum Function { kFunctionId = 1, kName = 2, kSystemName = 3, kFunctionFile = 4 };

// Above all addresses of programs, below those of the kernel.
constexpr std::uint64_t kFirstFileAddress = std::uint64_t{1} << 56,
                        kFileRangeSize = std::uint64_t{1} << 40;
constexpr int kGzipWindowBits = 16 + MAX_WBITS;  // the value with which deflateInit2 writes gzip

bool is_file(const ctprof::Module& module) {
  return module.kind == Module::Kind::File || module.kind == Module::Kind::Vdso;
}

std::uint64_t get_range_start(const StackTable& table, std::uint32_t module) {
  return is_file(table.modules()[module]) ? kFirstFileAddress + module * kFileRangeSize : 0;
}

std::uint64_t get_address(const StackTable& table, const Frame& frame) {
  const std::uint64_t start = get_range_start(table, frame.module);
  return start == 0 ? frame.offset : start + std::min(frame.offset, kFileRangeSize - 1);
}

std::int64_t clamp_to_signed(std::uint64_t weight) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(weight, kMax));
}

class Writer {
 public:
  explicit Writer(const StackProfile& profile) : profile_(&profile), table_(profile.table) {
    text("");
  }

  std::string write() {
    write_types();
    write_span();
    used_.resize(table_->frames().size());
    for (const OwnedStacks& owned : profile_->owners)
      for (const StackWeights& row : collect_rows(owned)) write_sample(owned.owner, row);
    for (std::uint32_t module = 0; module < table_->modules().size(); ++module)
      write_mapping(module);
    for (std::uint32_t frame = 0; frame < used_.size(); ++frame)
      if (used_[frame]) write_location(frame);
    for (const std::string& text : texts_) out_.add_string(kStringTable, text);
    return std::move(data_);
  }

 private:
  std::int64_t text(const std::string& text) {
    const auto [known, is_new] =
        text_numbers_.emplace(text, static_cast<std::int64_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return known->second;
  }
  std::int64_t name(std::string_view name) { return text(make_printable_short(name)); }

  void write_type(std::uint32_t field, std::string_view type_name, std::string_view unit) {
    protozero::pbf_writer type(out_, field);
    type.add_int64(kType, name(type_name));
    type.add_int64(kUnit, name(unit == "ns" ? "nanoseconds" : unit));
  }

  // Writes the types of the values, then of the sample counts of values with a period.
  void write_types() {
    for (const StackValue& value : profile_->values)
      write_type(kSampleType, value.name, value.unit);
    for (const StackValue& value : profile_->values)
      if (value.period_ns > 0) write_type(kSampleType, make_samples_name(value.name), "count");
    if (!profile_->values.empty())
      out_.add_int64(kDefaultSampleType, name(profile_->values.front().name));
  }

  // Returns the nearest number of samples; at least one for a weight above 0.
  static std::uint64_t count_samples(std::uint64_t weight, std::uint64_t period) {
    const std::uint64_t whole = weight / period, rest = weight % period;
    const std::uint64_t nearest = whole + (rest >= period - rest ? 1 : 0);
    return weight > 0 ? std::max<std::uint64_t>(nearest, 1) : 0;
  }

  // Returns "oncpu_samples" for "oncpu_stacks".
  static std::string make_samples_name(std::string_view value) {
    constexpr std::string_view kStacks = "_stacks";
    if (value.ends_with(kStacks)) value.remove_suffix(kStacks.size());
    return std::string(value) + "_samples";
  }

  void write_span() {
    const ProfileSpan& span = profile_->span;
    if (span.opened_unix_ns > 0) out_.add_int64(kTimeNanos, clamp_to_signed(span.opened_unix_ns));
    if (span.length_ns > 0) out_.add_int64(kDurationNanos, clamp_to_signed(span.length_ns));
    const auto sampled = std::ranges::find_if(
        profile_->values, [](const StackValue& value) { return value.period_ns > 0; });
    if (sampled == profile_->values.end()) return;
    write_type(kPeriodType, sampled->name, sampled->unit);
    out_.add_int64(kPeriod, clamp_to_signed(sampled->period_ns));
  }

  void write_sample(const StackOwner& owner, const StackWeights& row) {
    std::vector<std::uint64_t> locations;
    for (const std::uint32_t frame : get_frames(*table_, row.stack)) {
      locations.push_back(frame + 1);
      used_[frame] = true;
    }
    std::vector<std::int64_t> values;
    for (const std::uint64_t weight : row.weights) values.push_back(clamp_to_signed(weight));
    for (std::size_t value = 0; value < row.weights.size(); ++value)
      if (const std::uint64_t period = profile_->values[value].period_ns; period > 0)
        values.push_back(clamp_to_signed(count_samples(row.weights[value], period)));
    protozero::pbf_writer sample(out_, kSample);
    sample.add_packed_uint64(kLocationId, locations.begin(), locations.end());
    sample.add_packed_int64(kValue, values.begin(), values.end());
    write_label(sample, "process", owner.process);
    write_label(sample, "thread", owner.thread);
    write_label(sample, "cgroup", owner.cgroup);
    write_label(sample, "pid", owner.pid);
    write_label(sample, "tid", owner.tid);
  }

  void write_label(protozero::pbf_writer& sample, const char* key, const std::string& value) {
    if (value.empty()) return;
    protozero::pbf_writer label(sample, kLabel);
    label.add_int64(kKey, text(key));
    label.add_int64(kText, name(value));
  }
  void write_label(protozero::pbf_writer& sample, const char* key, std::uint64_t value) {
    if (value == 0) return;
    protozero::pbf_writer label(sample, kLabel);
    label.add_int64(kKey, text(key));
    label.add_int64(kNumber, clamp_to_signed(value));
  }

  void write_mapping(std::uint32_t number) {
    const ctprof::Module& module = table_->modules()[number];
    const std::uint64_t start = get_range_start(*table_, number);
    protozero::pbf_writer mapping(out_, kMapping);
    mapping.add_uint64(kMappingId, number + 1);
    mapping.add_uint64(kStart, start);
    mapping.add_uint64(
        kLimit, start == 0 ? std::numeric_limits<std::uint64_t>::max() : start + kFileRangeSize);
    mapping.add_int64(kFilename, name(get_module_name(module)));
    if (!module.build_id.empty()) mapping.add_int64(kBuildId, text(to_hex(module.build_id)));
    mapping.add_bool(kHasFunctions, true);
  }

  void write_location(std::uint32_t number) {
    const std::uint64_t function_number = find_or_add_function(number);
    const Frame& frame = table_->frames()[number];
    protozero::pbf_writer location(out_, kLocation);
    location.add_uint64(kId, number + 1);
    if (number != StackTable::kTruncated) {
      location.add_uint64(kLocationMapping, frame.module + 1);
      location.add_uint64(kAddress, get_address(*table_, frame));
    }
    protozero::pbf_writer line(location, kLine);
    line.add_uint64(kLineFunction, function_number);
  }

  std::uint64_t find_or_add_function(std::uint32_t frame) {
    const std::int64_t name_text = name(get_marked_function_name(*table_, frame));
    const std::int64_t file_text = name(get_frame_module(*table_, frame));
    const auto [known, is_new] =
        functions_.emplace(std::pair(name_text, file_text), functions_.size() + 1);
    if (!is_new) return known->second;
    protozero::pbf_writer function(out_, kFunction);
    function.add_uint64(kFunctionId, known->second);
    function.add_int64(kName, name_text);
    function.add_int64(kSystemName, name_text);
    function.add_int64(kFunctionFile, file_text);
    return known->second;
  }

  const StackProfile* profile_;
  const StackTable* table_;
  std::string data_;
  protozero::pbf_writer out_{data_};
  std::vector<bool> used_;  // by frame
  std::vector<std::string> texts_;
  std::map<std::string, std::int64_t> text_numbers_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> functions_;  // by name and file
};

Result<void> gzip(const std::string& text, std::string& packed) {
  if (text.size() > std::numeric_limits<uInt>::max())
    return Error{
        "compressing the profile: its stacks exceed 4 GiB; select one metric with --metric, or "
        "threads with --where"};
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindowBits, MAX_MEM_LEVEL,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return Error{"compressing the profile: not enough memory"};
  packed.resize(deflateBound(&stream, text.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);  // the buffer is large enough for the complete output
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return {};
}

}  // namespace
}  // namespace pprof

Result<void> write_pprof(const StackProfile& profile, Sink& out) {
  std::string packed;
  CTPROF_TRY(pprof::gzip(pprof::Writer(profile).write(), packed));
  return out.write(packed);
}

}  // namespace ctprof

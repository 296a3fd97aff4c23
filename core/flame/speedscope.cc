// Writes Speedscope's own format: https://www.speedscope.app/file-format-schema.json
//
// `shared` contains all frames; a sample is a list of their indexes, outermost first.

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/base/version.hpp"
#include "core/flame/stack_formats.hpp"
#include "core/render/terminal_text.hpp"

namespace ctprof {
namespace speedscope {
namespace {

constexpr std::string_view kSchema = "https://www.speedscope.app/file-format-schema.json";
constexpr std::size_t kBufferSize = 1 << 20;  // the buffer is written at this size

std::string_view get_unit(const StackValue& value) {
  if (value.unit == "ns") return "nanoseconds";
  return value.unit == "bytes" ? "bytes" : "none";
}

class Writer {
 public:
  Writer(const StackProfile& profile, Sink& out) : profile_(&profile), out_(&out) {}

  Result<void> write() {
    write_frames();
    json_.put('{');
    json_.member("$schema", kSchema);
    json_.member("exporter", "ctprof " + std::string(kVersion));
    json_.key("shared");
    json_.raw("{\"frames\":[");
    json_.raw(frames_.view());
    json_.close(']');
    json_.raw("},\"profiles\":[");
    for (std::size_t value = 0; value < profile_->values.size(); ++value)
      CTPROF_TRY(write_profile(value));
    json_.close(']');
    json_.raw("}\n");
    return out_->write(json_.view());
  }

 private:
  void write_frames() {
    const StackTable& table = *profile_->table;
    for (std::uint32_t frame = 0; frame < table.frames().size(); ++frame)
      add_frame(get_marked_function_name(table, frame), get_frame_module(table, frame));
    for (const OwnedStacks& owned : profile_->owners) {
      for (const std::string_view root : get_root_names(owned.owner)) {
        const auto next = profile_->table->frames().size() + roots_.size();
        if (roots_.emplace(root, next).second) add_frame(root, {});
      }
    }
  }

  void add_frame(std::string_view name, std::string_view file) {
    frames_.put('{');
    frames_.member("name", make_printable_short(name));
    if (!file.empty()) frames_.member("file", make_printable_short(file));
    frames_.close('}');
    frames_.put(',');
  }

  Result<void> write_profile(std::size_t value) {
    json_.put('{');
    json_.member("type", "sampled");
    json_.member("name", make_printable_short(profile_->values[value].name));
    json_.member("unit", get_unit(profile_->values[value]));
    json_.member("startValue", std::uint64_t{0});
    json_.member("endValue", sum_weights(value));
    json_.key("samples");
    json_.put('[');
    CTPROF_TRY(for_each_stack(value, &Writer::write_sample));
    json_.close(']');
    json_.raw(",\"weights\":[");
    CTPROF_TRY(for_each_stack(value, &Writer::write_weight));
    json_.close(']');
    json_.raw("},");
    return {};
  }

  using WriteFunction = void (Writer::*)(const StackOwner&, const ctprof_stack&);
  Result<void> for_each_stack(std::size_t value, WriteFunction write) {
    for (const OwnedStacks& owned : profile_->owners) {
      for (const ctprof_stack& stack : owned.weights[value]) {
        (this->*write)(owned.owner, stack);
        if (json_.size() < kBufferSize) continue;
        // Keeps the last comma in the buffer, because closing the list may remove it.
        CTPROF_TRY(out_->write(json_.view().substr(0, json_.size() - 1)));
        json_.clear();
        json_.put(',');
      }
    }
    return {};
  }

  void write_sample(const StackOwner& owner, const ctprof_stack& stack) {
    json_.put('[');
    for (const std::string_view root : get_root_names(owner))
      write_index(roots_.find(root)->second);
    const auto frames = get_frames(*profile_->table, stack.stack);
    std::for_each(frames.rbegin(), frames.rend(), [&](std::uint32_t each) { write_index(each); });
    json_.close(']');
    json_.put(',');
  }

  void write_weight(const StackOwner&, const ctprof_stack& stack) {
    json_.number(stack.weight);
    json_.put(',');
  }

  void write_index(std::uint64_t index) {
    json_.number(index);
    json_.put(',');
  }

  std::uint64_t sum_weights(std::size_t value) const {
    std::uint64_t sum = 0;
    for (const OwnedStacks& owned : profile_->owners)
      for (const ctprof_stack& stack : owned.weights[value])
        if (__builtin_add_overflow(sum, stack.weight, &sum))
          return std::numeric_limits<std::uint64_t>::max();
    return sum;
  }

  const StackProfile* profile_;
  Sink* out_;
  JsonWriter json_{Escape::Unprintable};
  JsonWriter frames_{Escape::Unprintable};
  std::map<std::string, std::uint64_t, std::less<>> roots_;
};

}  // namespace
}  // namespace speedscope

Result<void> write_speedscope(const StackProfile& profile, Sink& out) {
  return speedscope::Writer(profile, out).write();
}

}  // namespace ctprof

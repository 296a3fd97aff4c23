// Synthetic stack profiles for tests: the tests know their sums.

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/flame/stack_profile.hpp"

namespace ctprof::tests {

// Builds a profile, and owns its table and weights.
class StackProfileBuilder {
 public:
  explicit StackProfileBuilder(std::vector<StackValue> values) {
    profile_.values = std::move(values);
  }
  StackProfileBuilder(const StackProfileBuilder&) = delete;
  StackProfileBuilder& operator=(const StackProfileBuilder&) = delete;

  std::uint32_t add_module(const std::string& path) {
    return table_.add_module({Module::Kind::File, path, "\xab\xcd\x01" + path.substr(0, 17), 0});
  }
  std::uint32_t add_kernel() { return table_.add_module({Module::Kind::Kernel, {}, {}, 0}); }
  std::uint32_t add_jit(std::uint64_t pid) {
    return table_.add_module({Module::Kind::Anonymous, {}, {}, pid});
  }

  // Returns a frame. A named frame gets its own offset in its module; one without a name has only
  // its offset.
  Frame make_frame(std::uint32_t module, const std::string& name, bool is_guessed = false) {
    const auto [known, is_new] = offsets_.emplace(name, 0x1000 + 16 * offsets_.size());
    return make_frame_at(module, known->second, name, is_guessed);
  }
  Frame make_frame_at(std::uint32_t module, std::uint64_t offset, const std::string& name,
                      bool is_guessed = false) {
    const Frame frame{offset, module, is_guessed};
    if (!name.empty()) frame_names_.emplace_back(frame, name);
    return frame;
  }

  void add_owner(StackOwner owner) {
    owners_.push_back(std::move(owner));
    weights_.emplace_back(profile_.values.size());
  }

  // Adds a stack, root first, to the last owner, with one weight for each value.
  void add_stack(std::vector<Frame> frames, const std::vector<std::uint64_t>& weights,
                 WalkEnd ending = WalkEnd::Root) {
    const std::vector<Frame> leaf_first(frames.rbegin(), frames.rend());
    const std::uint32_t stack = table_.add_stack(leaf_first, ending);
    for (std::size_t value = 0; value < weights.size(); ++value)
      if (weights[value] > 0) weights_.back()[value].push_back({stack, weights[value]});
  }

  const StackProfile& get_profile() {
    name_frames();
    profile_.table = &table_;
    profile_.owners.clear();
    for (std::size_t owner = 0; owner < owners_.size(); ++owner)
      profile_.owners.push_back({owners_[owner], {weights_[owner].begin(), weights_[owner].end()}});
    return profile_;
  }

 private:
  void name_frames() {
    std::map<Frame, std::string_view> names(frame_names_.begin(), frame_names_.end());
    for (std::uint32_t number = 1; number < table_.frames().size(); ++number)
      if (const auto name = names.find(table_.frames()[number]); name != names.end())
        table_.set_name(number, name->second);
  }

  StackTable table_;
  StackProfile profile_;
  std::map<std::string, std::uint64_t> offsets_;
  std::vector<std::pair<Frame, std::string>> frame_names_;
  std::vector<StackOwner> owners_;
  std::vector<std::vector<std::vector<ctprof_stack>>> weights_;
};

inline const std::vector<StackValue> kOnCpu{{"oncpu_stacks", "ns"}};
inline const std::vector<StackValue> kTwoValues{{"oncpu_stacks", "ns"}, {"faults_stacks", "count"}};

}  // namespace ctprof::tests

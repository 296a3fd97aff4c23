// Calls the functions of rules, and owns the states they produce and copies of the data that the
// states point to.
//
// A rule can belong to a plugin. Calls into plugins are marked, so that a crash report can name the
// plugin.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/compare/figures/common_stacks.hpp"
#include "core/registry/plugin_call.hpp"
#include "core/snapshot/snapshot.hpp"
#include "ctprof/abi.h"

namespace ctprof {

// Returns the result of `call`. `owner` is null for a built-in rule. If a plugin's rule throws,
// throws PluginException, which names the plugin's file.
template <class Call>
auto call_rule(const CallOwner* owner, const char* function, Call&& call) {
  if (!owner) return call();
  const PluginCall in_plugin(owner, function);
  try {
    return call();
  } catch (const std::exception& exception) {
    throw PluginException(format_exception_message(*owner, function, exception.what()));
  } catch (const abi::__forced_unwind&) {
    if (call_hooks().on_thread_exit) call_hooks().on_thread_exit(*owner, function);
    throw;
  } catch (...) {
    throw PluginException(
        format_exception_message(*owner, function, "an exception without a message"));
  }
}

// Returns a sink that appends a rule's text to `text`, which must outlive the sink.
ctprof_sink make_text_sink(std::string& text);

// The numbers of a run's stacks in the common stacks, which outlive this object, and the common
// number of each node of the run's table. Null: stacks are not used.
struct RunStackNumbers {
  const CommonStacks* common = nullptr;
  std::span<const std::uint32_t> numbers{};
};

// Copies of a snapshot's texts, sets, maps and stacks, for use by rules. A state may point to data
// that its rule received (abi.h, ctprof_rows), and outlives the snapshot.
//
// Texts, sets and map keys are copied on first use. Map entries and weighted stacks are copied only
// for rules of plugins, because built-in rules do not keep pointers to them. Stacks are not
// copied: a state refers to them by their numbers in the CommonStacks. Not thread-safe.
class StateContent {
 public:
  StateContent() = default;
  StateContent(const StateContent&) = delete;
  StateContent& operator=(const StateContent&) = delete;

  // Reads from this snapshot from now on.
  void set_snapshot(const Snapshot& snapshot, const RunStackNumbers& nodes);
  // Releases the snapshot, but keeps the copies.
  void release_snapshot();
  // Also keeps the copies of `other` alive.
  void share_copies_of(const StateContent& other);

  // Sets the functions by which rules read the contents of `rows`. REQUIRES: this object outlives
  // the states that are built from them.
  void set_accessors(ctprof_rows& rows, bool for_plugin);
  std::string_view copy(std::string_view text) { return arena().copy(text); }
  std::string_view text(Id id);

 private:
  // The `core` pointer of ctprof_rows.
  struct RowsContext {
    StateContent* content;
    bool for_plugin;
  };
  static ctprof_text text_of(const void* core, std::uint32_t id);
  static const std::uint64_t* bits_of(const void* core, std::uint32_t id, std::size_t* words);
  static const ctprof_entry* map_of(const void* core, std::uint32_t id, std::size_t* entries);
  static const ctprof_stack* stacks_of(const void* core, std::uint32_t id, std::size_t* stacks);
  static const std::uint32_t* frames_of(const void* core, std::uint64_t stack, std::size_t* frames);
  Arena& arena() { return *arenas_.front(); }
  const char* copy_key(ctprof_text key);

  // A copied key, identified by its address in the snapshot's pool.
  struct CopiedKey {
    const char* from = nullptr;
    const char* copy = nullptr;
  };
  static constexpr std::size_t kKeyCacheSize = 1024;

  std::vector<std::shared_ptr<Arena>> arenas_{std::make_shared<Arena>()};  // our own arena first
  RowsContext built_in_{this, false}, plugins_{this, true};
  const Pools* pools_ = nullptr;
  std::vector<ctprof_text> texts_;  // by id; null if not copied yet
  std::unordered_map<Id, std::span<const std::uint64_t>> sets_;
  std::unordered_map<const char*, const char*> keys_;
  std::vector<CopiedKey> key_cache_;  // a cache, because maps repeat their keys
  std::vector<ctprof_entry> entries_;
  RunStackNumbers nodes_;
  std::vector<ctprof_stack> stacks_;
  std::unordered_map<std::uint64_t, std::span<const std::uint32_t>> frames_;
};

// The states of one rule, one for each group, created and destroyed together.
class RuleStates {
 public:
  RuleStates() = default;
  // Zeroes the states, then calls the rule's init. `owner` is null for a built-in rule. REQUIRES:
  // the rule outlives this object.
  RuleStates(const ctprof_rule& rule, std::size_t count, const CallOwner* owner = nullptr)
      : rule_(&rule),
        owner_(owner),
        count_(count),
        bytes_(std::make_unique<std::byte[]>(count * rule.state_size)) {
    if (rule.init) for_each("init", rule.init);
  }
  RuleStates(RuleStates&& other) noexcept
      : rule_(other.rule_),
        owner_(other.owner_),
        count_(std::exchange(other.count_, 0)),
        bytes_(std::move(other.bytes_)) {}
  RuleStates& operator=(RuleStates&& other) noexcept {
    std::swap(rule_, other.rule_);
    std::swap(owner_, other.owner_);
    std::swap(count_, other.count_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~RuleStates() {
    if (rule_ && rule_->destroy) for_each("destroy", rule_->destroy);
  }

  void add(const ctprof_rows& rows) {
    call_rule(owner_, "add", [&] { rule_->add(bytes_.get(), &rows); });
  }
  // Merges a state of this or another object of the same rule into one of this object.
  void merge(std::size_t into, const RuleStates& other, std::size_t from) {
    call_rule(owner_, "merge",
              [&] { rule_->merge(bytes_.get() + into * rule_->state_size, other[from]); });
  }
  void finish() {
    if (rule_->finish) for_each("finish", rule_->finish);
  }

  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }
  const void* operator[](std::size_t group) const {
    return bytes_.get() + group * rule_->state_size;
  }

 private:
  void for_each(const char* function, void (*visit)(void*)) {
    call_rule(owner_, function, [&] {
      for (std::size_t i = 0; i < count_; ++i) visit(bytes_.get() + i * rule_->state_size);
    });
  }

  const ctprof_rule* rule_ = nullptr;
  const CallOwner* owner_ = nullptr;
  std::size_t count_ = 0;
  std::unique_ptr<std::byte[]> bytes_;
};

}  // namespace ctprof

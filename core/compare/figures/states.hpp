// The states of one rule, one for each group, made and destroyed together.

#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "core/compare/figures/rule_call.hpp"
#include "ctprof/abi.h"

namespace ctprof {

class States {
 public:
  States() = default;
  // All zeroes, then initialised. `owner` is null for a built-in rule. REQUIRES: a rule that
  // outlives this.
  States(const ctprof_rule& rule, std::size_t count, const CallOwner* owner = nullptr)
      : rule_(&rule),
        owner_(owner),
        count_(count),
        bytes_(std::make_unique<std::byte[]>(count * rule.state_size)) {
    if (rule.init) for_each("init", rule.init);
  }
  States(States&& other) noexcept
      : rule_(other.rule_),
        owner_(other.owner_),
        count_(std::exchange(other.count_, 0)),
        bytes_(std::move(other.bytes_)) {}
  States& operator=(States&& other) noexcept {
    std::swap(rule_, other.rule_);
    std::swap(owner_, other.owner_);
    std::swap(count_, other.count_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~States() {
    if (rule_ && rule_->destroy) for_each("destroy", rule_->destroy);
  }

  void add(const ctprof_rows& rows) {
    call_rule(owner_, "add", [&] { rule_->add(bytes_.get(), &rows); });
  }
  // One state takes in another, of this or of other states of the rule.
  void merge(std::size_t into, const States& other, std::size_t from) {
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

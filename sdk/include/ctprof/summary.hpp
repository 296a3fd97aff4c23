// The summary of a source after a capture: its object in the file, and messages for the user.
//
// Declare `static void summarise(const sdk::Summary&)` to use it. It is called once after the last
// batch, when all workers have been destroyed. Totals come from tallies, which ctprof adds up over
// all workers:
//
//   static constexpr std::uint32_t kTallies = 1;
//   static constexpr const char* kSummaryKey = "example_summary";
//   static void summarise(const sdk::Summary& summary) {
//     summary.put("threads_without_stack", summary.tally(0));
//   }
//
// Contents:   totals of the whole capture, and messages.
// See also:   batch.hpp for the tallies of a batch (Batch::tally), source.hpp for other defaults of
//             a source.

#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "ctprof/abi.h"

namespace ctprof::sdk {

class Summary {
 public:
  explicit Summary(const ctprof_summary& summary) : abi_(&summary) {}

  // Returns the total of a tally over all workers. REQUIRES: which < kTallies.
  std::uint64_t tally(std::uint32_t which) const { return abi_->tallies[which]; }
  // Return how many threads were listed, and how many of them exited before any value was read.
  std::uint64_t rows_listed() const { return abi_->rows_listed; }
  std::uint64_t rows_absent() const { return abi_->rows_absent; }

  // Adds a field to the object under kSummaryKey in the file. Fields are written in the order of
  // the calls. A dot in `key` opens an inner object.
  void put(const char* key, std::uint64_t value) const { abi_->put_u64(abi_->core, key, value); }
  void put(const char* key, bool value) const { abi_->put_bool(abi_->core, key, value ? 1 : 0); }
  void put(const char* key, std::string_view text) const {
    abi_->put_text(abi_->core, key, text.data(), text.size());
  }
  // Adds the key with null: the value exists but is unknown.
  void put_null(const char* key) const { abi_->put_text(abi_->core, key, nullptr, 0); }
  // Prints a message for the user on standard error. Use it only if values are missing or
  // misleading, and begin with your plugin's name.
  void note(std::string_view sentence) const {
    abi_->note(abi_->core, sentence.data(), sentence.size());
  }

  // Returns the plugin's context (Host::context in host.hpp). It is the object that the workers
  // used, and no worker uses it. Throws std::runtime_error if ctprof is too old to support
  // contexts.
  template <class Context>
  Context& context() const {
    constexpr std::size_t kSizeWithContext =
        offsetof(ctprof_summary, context) + sizeof(ctprof_summary::context);
    if (abi_->size < kSizeWithContext || !abi_->context)
      throw std::runtime_error("this ctprof is too old to support contexts of plugins");
    return *static_cast<Context*>(abi_->context);
  }

 private:
  const ctprof_summary* abi_;
};

}  // namespace ctprof::sdk

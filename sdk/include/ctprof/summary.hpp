// What a source says once the capture is over: its object in the file, and sentences for the user.
//
// Declare `static void summarise(const sdk::Summary&)` to have one. It is called once after the
// last batch, when no worker is left, so totals come from tallies, which ctprof adds up over all
// workers:
//
//   static constexpr std::uint32_t kTallies = 1;
//   static constexpr const char* kSummaryKey = "example_summary";
//   static void summarise(const sdk::Summary& summary) {
//     summary.put("threads_without_stack", summary.tally(0));
//   }
//
// What is here:   figures of the whole capture, and sentences.
// What is not:    tallies of a batch (Batch::tally in batch.hpp), other defaults of a source
//                 (source.hpp).

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

  // What Batch::tally added up to. REQUIRES: which < kTallies.
  std::uint64_t tally(std::uint32_t which) const { return abi_->tallies[which]; }
  // How many threads were listed, and how many of them were gone before anything was read.
  std::uint64_t rows_listed() const { return abi_->rows_listed; }
  std::uint64_t rows_absent() const { return abi_->rows_absent; }

  // A field of the object under kSummaryKey in the file, in the order of the calls. A dot in `key`
  // opens an inner object.
  void put(const char* key, std::uint64_t value) const { abi_->put_u64(abi_->core, key, value); }
  void put(const char* key, bool value) const { abi_->put_bool(abi_->core, key, value ? 1 : 0); }
  void put(const char* key, std::string_view text) const {
    abi_->put_text(abi_->core, key, text.data(), text.size());
  }
  // The key with null: there is such a figure, and it is not known.
  void put_null(const char* key) const { abi_->put_text(abi_->core, key, nullptr, 0); }
  // A sentence for the user, on standard error. Say it only where figures are missing or misleading
  // because of it, and begin with your plugin's name.
  void note(std::string_view sentence) const {
    abi_->note(abi_->core, sentence.data(), sentence.size());
  }

  // The plugin's context (Host::context in host.hpp). It is the same object that the workers used,
  // and they are done with it. Throws std::runtime_error under a ctprof that opens no plugins.
  template <class Context>
  Context& context() const {
    constexpr std::size_t kSizeWithContext =
        offsetof(ctprof_summary, context) + sizeof(ctprof_summary::context);
    if (abi_->size < kSizeWithContext || !abi_->context)
      throw std::runtime_error("this ctprof opens no plugins");
    return *static_cast<Context*>(abi_->context);
  }

 private:
  const ctprof_summary* abi_;
};

}  // namespace ctprof::sdk

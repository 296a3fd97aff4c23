// Several file types as one: made of a batch, and gone through one by one.
//
// A file type is made of a batch, is true when a wanted column needs the file, and has `kOffers`.

#pragma once

#include <tuple>

#include "ctprof/batch.hpp"
#include "plugins/shared/fields.hpp"

namespace ctprof {

template <class... Files>
class FileTable {
 public:
  static constexpr auto kOffers = joined(Files::kOffers...);

  explicit FileTable(const sdk::Batch& batch) : files_(Files(batch)...) {}

  // Whether any is needed.
  explicit operator bool() const {
    return std::apply([](const auto&... files) { return (static_cast<bool>(files) || ...); },
                      files_);
  }
  template <class Deed>
  void for_each(Deed deed) {
    std::apply([&](auto&... files) { (deed(files), ...); }, files_);
  }
  // Calls a deed's operator() for each type, as its template argument.
  template <class Deed>
  static void for_each_type(Deed deed) {
    (deed.template operator()<Files>(), ...);
  }

 private:
  std::tuple<Files...> files_;
};

}  // namespace ctprof

// An output window as the C structs that plugins read.

#pragma once

#include <deque>
#include <string>
#include <vector>

#include "core/output/output_window.hpp"

namespace ctprof {

// The structs refer to the window and to this object.
class WindowView {
 public:
  explicit WindowView(const OutputWindow& window);
  WindowView(const WindowView&) = delete;
  WindowView& operator=(const WindowView&) = delete;

  const ctprof_output_window& get() const { return view_; }

 private:
  ctprof_output_table make_table(const OutputTable& table);
  ctprof_output_metric make_metric(const OutputMetric& metric);

  std::deque<std::vector<const char*>> label_names_;
  std::deque<std::vector<ctprof_output_label>> key_labels_;
  std::deque<std::vector<ctprof_output_metric>> metrics_;
  std::deque<std::vector<ctprof_text>> labels_;
  std::deque<std::vector<ctprof_output_row>> rows_;
  std::vector<ctprof_output_table> tables_;
  ctprof_output_window view_{};
};

}  // namespace ctprof

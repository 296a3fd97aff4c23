// Labels of the keys of a map: their names, and the values in a key.
//
//   format_labelled_key("device,direction", "sda,read")       // "device=sda direction=read"
//
// MetricDef::labels contains one or two names, separated by a comma; it is empty if the keys are
// only names. A key with two labels consists of two parts (abi/labels.h). Files of others may
// contain any key: a malformed one is the value of the first label, and the other value is empty.
//
// All functions depend only on their arguments, and may be called on any thread.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/registry/metric_def.hpp"

namespace ctprof {

// Returns the names; none if the text is empty. The views refer to the text.
std::vector<std::string_view> label_names(std::string_view labels);

// Returns whether the key has the form that these labels require.
bool is_key_of_labels(std::string_view labels, std::string_view key);

// Returns the values of the labels in a key, as many as there are names.
std::vector<std::string> label_values(std::string_view labels, std::string_view key);

// Returns the key of one or two values of labels.
std::string join_label_values(const std::vector<std::string>& values);

// Returns "device=sda direction=read"; the key if there are no labels.
std::string format_labelled_key(std::string_view labels, std::string_view key);

// Returns whether a definition may have these labels: it is a map, and their names have no fault.
bool has_valid_labels(const MetricDef& def, std::string_view labels);

}  // namespace ctprof

// Formats losses as text and JSON. window/losses.hpp and compare/figures/run_losses.hpp find them.

#pragma once

#include <span>
#include <string>

#include "core/render/row_json.hpp"
#include "core/window/losses.hpp"

namespace ctprof {

// Returns printable text without a full stop: "no differences for 3 threads, not read when the
// window opened".
std::string describe_loss(const Loss& loss);

// Writes the member `losses`.
void write_losses(JsonBuilder& json, std::span<const Loss> losses);

}  // namespace ctprof

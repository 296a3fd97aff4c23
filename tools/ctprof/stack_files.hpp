// Files that are made of a window's call stacks: pictures, and what other people's tools read.

#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.hpp"
#include "core/flame/stack_forms.hpp"
#include "tools/ctprof/options.hpp"
#include "tools/ctprof/privileges.hpp"

namespace ctprof::cli {

// Writes the stacks of the file's window, those of --metric or all, in that form. Returns the bytes
// that were written.
Result<std::uint64_t> export_stacks(const std::string& file, const StackForm& form,
                                    const Target& target, const Options& options);

// The form of that name, or null.
const StackForm* find_stack_form(std::string_view name);

// Tells, unless --quiet, what was written, on the stream that the file itself does not use.
int tell_written(const Options& options, const Target& target, std::uint64_t bytes);

}  // namespace ctprof::cli

#include "core/stacks/demangle.hpp"

#include <csetjmp>
#include <cstddef>
#include <functional>

// Declares functions of libiberty (binutils, GCC); its own header requires others that are not
// needed.
extern "C" {
using DemangleCallback = void(const char* text, std::size_t size, void* opaque);
int rust_demangle_callback(const char* mangled, int options, DemangleCallback*, void* opaque);
int cplus_demangle_v3_callback(const char* mangled, int options, DemangleCallback*, void* opaque);

// The bounds of this program's code and constants; the linker defines them.
extern const char __executable_start[];  // NOLINT(bugprone-reserved-identifier)
extern const char _end[];                // NOLINT(bugprone-reserved-identifier)
}

namespace ctprof {

#ifdef CTPROF_LIBIBERTY
namespace {

constexpr std::size_t kMaxMangledSize = 1000;
constexpr std::size_t kMaxDemangledSize = 4096;

struct Output {
  std::string_view mangled;
  std::string text;
  bool is_too_long = false;
  std::jmp_buf too_long;
};

// Returns whether `text` points into the mangled name or is a constant such as `::`. A decoded Rust
// identifier is neither: it is on the heap, and the function that prints it frees it afterwards.
bool needs_no_free(const char* text, const Output& output) {
  const std::less_equal<> not_after;
  const char* const begin = output.mangled.data();
  return (not_after(begin, text) && not_after(text, begin + output.mangled.size())) ||
         (not_after(__executable_start, text) && not_after(text, _end));
}

// Appends output of a demangler. Output can double with each letter of a name, and a callback
// cannot refuse it. So if it is too long, this function leaves by longjmp(3): only over C
// functions, and only at a text during which none of them owns memory. A constant is printed
// between any two texts that are owned.
void append_or_jump(const char* text, std::size_t size, void* opaque) {
  auto& output = *static_cast<Output*>(opaque);
  output.is_too_long = output.is_too_long || size > kMaxDemangledSize - output.text.size();
  if (!output.is_too_long)
    output.text.append(text, size);
  else if (needs_no_free(text, output))
    std::longjmp(output.too_long, 1);
}

using Demangler = int(const char*, int, DemangleCallback*, void*);

bool run_demangler(Demangler* demangler, const char* mangled, Output& output) {
  output.text.clear();
  output.is_too_long = false;
  if (setjmp(output.too_long) != 0) return false;
  return demangler(mangled, 0, append_or_jump, &output) != 0 && !output.is_too_long;
}

}  // namespace

std::string demangle(std::string_view name) {
  if (!is_mangled(name) || name.size() > kMaxMangledSize) return std::string(name);
  const std::string text(name);
  Output output;
  output.mangled = text;
  const bool is_done = run_demangler(rust_demangle_callback, text.c_str(), output) ||
                       run_demangler(cplus_demangle_v3_callback, text.c_str(), output);
  return is_done ? output.text : text;
}
#else
std::string demangle(std::string_view name) { return std::string(name); }
#endif

}  // namespace ctprof

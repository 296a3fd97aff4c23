#include "core/stacks/demangle.hpp"

#include <csetjmp>
#include <cstddef>

// Of libiberty, which is binutils' and GCC's own; its header calls for others that are not needed.
extern "C" {
using DemangleCallback = void(const char* text, std::size_t size, void* opaque);
int rust_demangle_callback(const char* mangled, int options, DemangleCallback*, void* opaque);
int cplus_demangle_v3_callback(const char* mangled, int options, DemangleCallback*, void* opaque);
}

namespace ctprof {

#ifdef CTPROF_LIBIBERTY
namespace {

constexpr std::size_t kLongestMangled = 1000;
constexpr std::size_t kLongest = 4096;

struct Output {
  std::string text;
  std::jmp_buf too_long;
};

// Output can double with each letter of a name, and a callback cannot refuse it: so it leaves by
// longjmp(3). Only C functions are passed over, and they own nothing.
void append(const char* text, std::size_t size, void* opaque) {
  auto& output = *static_cast<Output*>(opaque);
  if (size > kLongest - output.text.size()) std::longjmp(output.too_long, 1);
  output.text.append(text, size);
}

using Demangler = int(const char*, int, DemangleCallback*, void*);

bool demangle(Demangler* demangler, const char* mangled, Output& output) {
  output.text.clear();
  if (setjmp(output.too_long) != 0) return false;
  return demangler(mangled, 0, append, &output) != 0;
}

}  // namespace

std::string demangled(std::string_view name) {
  const bool mangled = name.starts_with("_Z") || name.starts_with("_R");
  if (!mangled || name.size() > kLongestMangled) return std::string(name);
  const std::string text(name);
  Output output;
  const bool done = demangle(rust_demangle_callback, text.c_str(), output) ||
                    demangle(cplus_demangle_v3_callback, text.c_str(), output);
  return done ? output.text : text;
}
#else
std::string demangled(std::string_view name) { return std::string(name); }
#endif

}  // namespace ctprof

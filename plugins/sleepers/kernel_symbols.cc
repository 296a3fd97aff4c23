#include "plugins/sleepers/kernel_symbols.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <stdexcept>

#include "ctprof/files.hpp"

namespace ctprof::sleepers {
namespace {

// Removes the text up to the first character of `delimiters` from the front, and returns it without
// that character.
std::string_view take_until(std::string_view& text, std::string_view delimiters) {
  const std::size_t size = std::min(text.find_first_of(delimiters), text.size());
  const std::string_view word = text.substr(0, size);
  text.remove_prefix(std::min(size + 1, text.size()));
  return word;
}

std::uint64_t parse_hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  if (text.starts_with("0x")) text.remove_prefix(2);
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return end.ec == std::errc() && end.ptr == text.data() + text.size() ? value : 0;
}

sdk::Fd open_symbols(const sdk::Host& host) {
  return sdk::Fd(::openat(host.proc(), "kallsyms", O_RDONLY | O_CLOEXEC));
}

bool is_code(std::string_view kind) {
  return kind.size() == 1 && std::string_view("tTwW").find(kind[0]) != std::string_view::npos;
}

}  // namespace

bool KernelSymbols::shows_addresses(const sdk::Host& host) {
  const sdk::Fd file = open_symbols(host);
  std::array<char, 16> first_bytes{};
  if (!file ||
      ::read(file.get(), first_bytes.data(), first_bytes.size()) != ssize_t{first_bytes.size()})
    return false;
  // The first symbols are often zero, because they are offsets into each CPU's memory. Therefore
  // later ones are read, too.
  std::array<char, 1 << 16> text{};
  for (int piece = 0; piece < 64; ++piece) {
    const ssize_t size_read = ::read(file.get(), text.data(), text.size());
    if (size_read <= 0) return false;
    std::string_view rest(text.data(), static_cast<std::size_t>(size_read));
    while (!rest.empty())
      if (const std::string_view line = take_until(rest, "\n");
          line.size() > 16 && line.starts_with("ffff"))
        return true;
  }
  return false;
}

KernelSymbols::KernelSymbols(const sdk::Host& host) {
  const sdk::Fd file = open_symbols(host);
  std::string text;
  for (ssize_t size_read = 1; size_read > 0;) {
    const std::size_t size = text.size();
    text.resize(size + (1 << 20));
    do size_read = file ? ::read(file.get(), text.data() + size, 1 << 20) : -1;
    while (size_read < 0 && errno == EINTR);
    if (size_read < 0) throw std::runtime_error("reading /proc/kallsyms failed");
    text.resize(size + static_cast<std::size_t>(size_read));
  }
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = take_until(rest, "\n");
    const std::uint64_t address = parse_hexadecimal(take_until(line, " "));
    if (address == 0 || !is_code(take_until(line, " "))) continue;
    addresses_.try_emplace(std::string(take_until(line, "\t")), address);
  }
}

void KernelSymbols::find_addresses(std::string_view stack,
                                   std::vector<std::uint64_t>& addresses) const {
  while (!stack.empty()) {
    std::string_view line = take_until(stack, "\n");
    take_until(line, " ");
    const std::string_view name = take_until(line, "+");
    const std::uint64_t offset = parse_hexadecimal(take_until(line, "/"));
    if (const auto symbol = addresses_.find(name); symbol != addresses_.end())
      addresses.push_back(symbol->second + offset);
  }
}

}  // namespace ctprof::sleepers

#include "plugins/sleepers/kernel_names.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <stdexcept>

#include "ctprof/files.hpp"

namespace ctprof::sleepers {
namespace {

// Removes the text up to the first character of `ends` from the front, and returns it without that
// character.
std::string_view cut(std::string_view& text, std::string_view ends) {
  const std::size_t size = std::min(text.find_first_of(ends), text.size());
  const std::string_view word = text.substr(0, size);
  text.remove_prefix(std::min(size + 1, text.size()));
  return word;
}

std::uint64_t hexadecimal(std::string_view text) {
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

bool KernelNames::tell_addresses(const sdk::Host& host) {
  const sdk::Fd file = open_symbols(host);
  std::array<char, 16> first{};
  if (!file || ::read(file.get(), first.data(), first.size()) != ssize_t{first.size()})
    return false;
  // The first symbols are often zero, because they are offsets into each CPU's memory. Therefore
  // later ones are read, too.
  std::array<char, 1 << 16> text{};
  for (int piece = 0; piece < 64; ++piece) {
    const ssize_t got = ::read(file.get(), text.data(), text.size());
    if (got <= 0) return false;
    std::string_view rest(text.data(), static_cast<std::size_t>(got));
    while (!rest.empty())
      if (const std::string_view line = cut(rest, "\n");
          line.size() > 16 && line.starts_with("ffff"))
        return true;
  }
  return false;
}

KernelNames::KernelNames(const sdk::Host& host) {
  const sdk::Fd file = open_symbols(host);
  std::string text;
  for (ssize_t got = 1; got > 0;) {
    const std::size_t size = text.size();
    text.resize(size + (1 << 20));
    do got = file ? ::read(file.get(), text.data() + size, 1 << 20) : -1;
    while (got < 0 && errno == EINTR);
    if (got < 0) throw std::runtime_error("reading /proc/kallsyms failed");
    text.resize(size + static_cast<std::size_t>(got));
  }
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = cut(rest, "\n");
    const std::uint64_t address = hexadecimal(cut(line, " "));
    if (address == 0 || !is_code(cut(line, " "))) continue;
    addresses_.try_emplace(std::string(cut(line, "\t")), address);
  }
}

void KernelNames::find(std::string_view stack, std::vector<std::uint64_t>& addresses) const {
  while (!stack.empty()) {
    std::string_view line = cut(stack, "\n");
    cut(line, " ");
    const std::string_view name = cut(line, "+");
    const std::uint64_t offset = hexadecimal(cut(line, "/"));
    if (const auto found = addresses_.find(name); found != addresses_.end())
      addresses.push_back(found->second + offset);
  }
}

}  // namespace ctprof::sleepers

#include "plugins/on-cpu/records.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ctprof::on_cpu {
namespace {

// Thread and time, at the end of all records except samples.
constexpr std::size_t kTrailer = 2 * sizeof(std::uint64_t);
constexpr std::size_t kRegisterCount = std::popcount(kRegisters);
constexpr std::uint16_t kIsExec = 1 << 13;  // PERF_RECORD_MISC_COMM_EXEC

// Takes values from the front. After the end, all values are zero and empty.
class Reader {
 public:
  explicit Reader(Bytes record) : rest_(record.subspan(sizeof(perf_event_header))) {}

  template <class T>
  T take() {
    T value{};
    if (const Bytes bytes = take_bytes(sizeof value); !bytes.empty())
      std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  Bytes take_bytes(std::uint64_t count) {
    if (count > rest_.size()) failed_ = true;
    if (failed_) return {};
    const Bytes taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  // REQUIRES: only multiples of eight bytes were taken.
  std::span<const std::uint64_t> take_words(std::uint64_t count) {
    if (count > rest_.size() / sizeof(std::uint64_t)) failed_ = true;
    const Bytes bytes = failed_ ? Bytes{} : take_bytes(count * sizeof(std::uint64_t));
    return {reinterpret_cast<const std::uint64_t*>(bytes.data()),
            bytes.size() / sizeof(std::uint64_t)};
  }
  Bytes rest() const { return rest_; }
  bool failed() const { return failed_; }

 private:
  Bytes rest_;
  bool failed_ = false;
};

bool is_context(std::uint64_t address) {
  return address >= static_cast<std::uint64_t>(PERF_CONTEXT_MAX);
}

// Splits a chain into its parts. Each part follows a context word.
void take_chain(std::span<const std::uint64_t> chain, Sample& sample) {
  for (std::size_t at = 0; at < chain.size();) {
    const std::uint64_t context = chain[at++];
    const auto begin = chain.begin() + static_cast<std::ptrdiff_t>(at);
    const auto part = std::span(begin, std::find_if(begin, chain.end(), is_context));
    at += part.size();
    if (context == static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL)) sample.kernel = part;
    if (context == static_cast<std::uint64_t>(PERF_CONTEXT_USER)) sample.user = part;
    if (context == kContextUserDeferred && !part.empty()) sample.deferred = part.front();
  }
}

// Returns the user part of a chain that only consists of user space. Its context word may be
// omitted (Linux 7.3).
std::span<const std::uint64_t> user_chain(std::span<const std::uint64_t> chain) {
  if (chain.empty() || !is_context(chain.front())) return chain;
  Sample sample;
  take_chain(chain, sample);
  return sample.user;
}

Registers registers_of(std::span<const std::uint64_t> words) {
#if defined(__x86_64__)
  return {.ip = words[2], .sp = words[1], .bp = words[0], .lr = 0};
#else
  return {.ip = words[3], .sp = words[2], .bp = words[0], .lr = words[1]};
#endif
}

void take_registers(Reader& in, Sample& sample) {
  const auto abi = in.take<std::uint64_t>();
  sample.is_32_bit = abi == PERF_SAMPLE_REGS_ABI_32;
  if (abi == PERF_SAMPLE_REGS_ABI_NONE) return;
  const auto words = in.take_words(kRegisterCount);
  if (!in.failed() && !sample.is_32_bit) sample.registers = registers_of(words);
}

// Takes the copy of the stack. Its size field is the capacity; the filled size follows the data.
void take_stack(Reader& in, Sample& sample) {
  const auto size = in.take<std::uint64_t>();
  if (size == 0) return;
  const Bytes memory = in.take_bytes(size);
  const auto filled = in.take<std::uint64_t>();
  sample.stack = {reinterpret_cast<const std::uint8_t*>(memory.data()),
                  std::min<std::size_t>(memory.size(), filled)};
}

// The output of a program about a walk. Its tag is the upper half of the first word; a sample that
// was not walked has its registers' ABI there, a small number.
struct Walked {
  std::uint32_t tag = 0;  // 0: it was not walked
  std::span<const std::uint64_t> words{};
};

Walked take_walked(Reader& in) {
  Reader ahead = in;
  const auto tag = static_cast<std::uint32_t>(ahead.take<std::uint64_t>() >> 32);
  if (ahead.failed() || tag == 0) return {};
  const auto words = ahead.take_words(tag & WALK_WORDS);
  in = ahead;
  return {tag & ~std::uint32_t{WALK_WORDS}, words};
}

bool is_of(Bytes record, std::uint32_t type) { return header_of(record).type == type; }

// Returns the text up to the first NUL; padding and the trailer follow it.
std::string_view text_of(Bytes bytes) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return {text, ::strnlen(text, bytes.size())};
}

}  // namespace

// The time is the second field of a sample, after the thread, and the last field of other records.
std::uint64_t time_of(Bytes record) {
  std::uint64_t time = 0;
  const std::size_t at = is_of(record, PERF_RECORD_SAMPLE)
                             ? sizeof(perf_event_header) + sizeof(std::uint64_t)
                             : record.size() - sizeof time;
  if (at + sizeof time <= record.size()) std::memcpy(&time, record.data() + at, sizeof time);
  return time;
}

std::optional<Sample> sample_of(Bytes record, bool copies) {
  Reader in(record);
  Sample sample;
  sample.tgid = in.take<std::uint32_t>();
  sample.tid = in.take<std::uint32_t>();
  in.take<std::uint64_t>();  // time_of
  take_chain(in.take_words(in.take<std::uint64_t>()), sample);
  const Walked walked = copies ? take_walked(in) : Walked{};
  if (walked.tag == WALK_STACK || walked.tag == WALK_DEEP_STACK) {
    sample.walked = walked.words;
    sample.is_deep = walked.tag == WALK_DEEP_STACK;
  } else if (copies) {
    take_registers(in, sample);
    take_stack(in, sample);
  }
  if (in.failed()) return std::nullopt;
  return sample;
}

std::optional<Missed> missed_of(Bytes record) {
  Reader in(record);
  Missed missed;
  missed.tgid = in.take<std::uint32_t>();
  in.take<std::uint32_t>();  // the thread
  in.take<std::uint64_t>();  // time_of
  in.take_words(in.take<std::uint64_t>());
  const Walked walked = take_walked(in);
  if (in.failed() || walked.tag != WALK_MISS || walked.words.size_bytes() != sizeof missed.miss)
    return std::nullopt;
  std::memcpy(&missed.miss, walked.words.data(), sizeof missed.miss);
  return missed;
}

std::optional<Deferred> deferred_of(Bytes record) {
  if (record.size() < sizeof(perf_event_header) + kTrailer) return std::nullopt;
  Reader in(record.first(record.size() - kTrailer));
  Deferred deferred;
  deferred.number = in.take<std::uint64_t>();
  deferred.user = user_chain(in.take_words(in.take<std::uint64_t>()));
  if (in.failed()) return std::nullopt;
  std::uint32_t thread[2];
  std::memcpy(thread, record.data() + record.size() - kTrailer, sizeof thread);
  deferred.tid = thread[1];
  return deferred;
}

std::optional<Mapped> mapped_of(Bytes record) {
  if (record.size() < sizeof(perf_event_header) + kTrailer) return std::nullopt;
  Reader in(record.first(record.size() - kTrailer));
  Mapped mapped;
  mapped.tgid = in.take<std::uint32_t>();
  in.take<std::uint32_t>();  // the thread
  mapped.start = in.take<std::uint64_t>();
  mapped.length = in.take<std::uint64_t>();
  mapped.offset = in.take<std::uint64_t>();
  mapped.device_major = in.take<std::uint32_t>();
  mapped.device_minor = in.take<std::uint32_t>();
  mapped.inode = in.take<std::uint64_t>();
  in.take<std::uint64_t>();  // its generation
  in.take<std::uint64_t>();  // protection and flags
  if (in.failed()) return std::nullopt;
  mapped.path = text_of(in.rest());
  return mapped;
}

std::optional<Family> family_of(Bytes record) {
  Reader in(record);
  Family family;
  family.tgid = in.take<std::uint32_t>();
  family.parent = in.take<std::uint32_t>();
  family.tid = in.take<std::uint32_t>();
  if (in.failed()) return std::nullopt;
  return family;
}

std::uint32_t execed_of(Bytes record) {
  return (header_of(record).misc & kIsExec) != 0 ? Reader(record).take<std::uint32_t>() : 0;
}

std::uint64_t lost_of(Bytes record) {
  Reader in(record);
  in.take<std::uint64_t>();  // the event's number
  return in.take<std::uint64_t>();
}

}  // namespace ctprof::on_cpu

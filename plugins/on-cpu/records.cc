#include "plugins/on-cpu/records.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ctprof::on_cpu {
namespace {

// Thread and time, at the end of all records except samples.
constexpr std::size_t kTrailerSize = 2 * sizeof(std::uint64_t);
constexpr std::size_t kRegisterCount = std::popcount(kRegisters);
constexpr std::uint16_t kIsExec = 1 << 13;  // PERF_RECORD_MISC_COMM_EXEC

// Takes values from the front. After the end, all values are zero and empty.
class RecordReader {
 public:
  explicit RecordReader(Bytes record) : rest_(record.subspan(sizeof(perf_event_header))) {}

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

Registers make_registers(std::span<const std::uint64_t> words) {
#if defined(__x86_64__)
  return {.ip = words[3], .sp = words[2], .bp = words[1], .lr = words[0]};
#else
  return {.ip = words[3], .sp = words[2], .bp = words[0], .lr = words[1]};
#endif
}

void take_registers(RecordReader& reader, Sample& sample) {
  const auto abi = reader.take<std::uint64_t>();
  sample.is_32_bit = abi == PERF_SAMPLE_REGS_ABI_32;
  if (abi == PERF_SAMPLE_REGS_ABI_NONE) return;
  const auto words = reader.take_words(kRegisterCount);
  if (!reader.failed() && !sample.is_32_bit) sample.registers = make_registers(words);
}

// Takes the copy of the stack. Its size field is the capacity; the filled size follows the data.
void take_stack(RecordReader& reader, Sample& sample) {
  const auto size = reader.take<std::uint64_t>();
  if (size == 0) return;
  const Bytes memory = reader.take_bytes(size);
  const auto filled = reader.take<std::uint64_t>();
  sample.stack = {reinterpret_cast<const std::uint8_t*>(memory.data()),
                  std::min<std::size_t>(memory.size(), filled)};
}

// The output of the BPF program that walks stacks. The upper half of its first word is the tag. In
// a sample that was not walked, the word at this place is the ABI of the registers, a small number,
// whose upper half is 0.
struct WalkOutput {
  std::uint32_t tag = 0;  // 0: it was not walked
  std::span<const std::uint64_t> words{};
};

WalkOutput take_walk_output(RecordReader& reader) {
  RecordReader ahead = reader;
  const auto tag = static_cast<std::uint32_t>(ahead.take<std::uint64_t>() >> 32);
  if (ahead.failed() || tag == 0) return {};
  const auto words = ahead.take_words(tag & WALK_WORD_COUNT_MASK);
  reader = ahead;
  return {tag & ~std::uint32_t{WALK_WORD_COUNT_MASK}, words};
}

bool has_type(Bytes record, std::uint32_t type) { return read_header(record).type == type; }

// Returns the text up to the first NUL; padding and the trailer follow it.
std::string_view read_text(Bytes bytes) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return {text, ::strnlen(text, bytes.size())};
}

}  // namespace

// The time is the second field of a sample, after the thread, and the last field of other records.
std::uint64_t read_time(Bytes record) {
  std::uint64_t time = 0;
  const std::size_t at = has_type(record, PERF_RECORD_SAMPLE)
                             ? sizeof(perf_event_header) + sizeof(std::uint64_t)
                             : record.size() - sizeof time;
  if (at + sizeof time <= record.size()) std::memcpy(&time, record.data() + at, sizeof time);
  return time;
}

std::optional<Sample> parse_sample(Bytes record, bool has_copies) {
  RecordReader reader(record);
  Sample sample;
  sample.tgid = reader.take<std::uint32_t>();
  sample.tid = reader.take<std::uint32_t>();
  reader.take<std::uint64_t>();  // see read_time
  take_chain(reader.take_words(reader.take<std::uint64_t>()), sample);
  const WalkOutput walked = has_copies ? take_walk_output(reader) : WalkOutput{};
  if (walked.tag == WALK_STACK || walked.tag == WALK_DEEP_STACK) {
    sample.walked_frames = walked.words;
    sample.is_deep = walked.tag == WALK_DEEP_STACK;
  } else if (has_copies) {
    take_registers(reader, sample);
    take_stack(reader, sample);
  }
  if (reader.failed()) return std::nullopt;
  return sample;
}

std::optional<MissingTable> parse_missed(Bytes record) {
  RecordReader reader(record);
  MissingTable missed;
  missed.tgid = reader.take<std::uint32_t>();
  reader.take<std::uint32_t>();  // the thread
  reader.take<std::uint64_t>();  // see read_time
  reader.take_words(reader.take<std::uint64_t>());
  const WalkOutput walked = take_walk_output(reader);
  if (reader.failed() || walked.tag != WALK_MISS || walked.words.size_bytes() != sizeof missed.miss)
    return std::nullopt;
  std::memcpy(&missed.miss, walked.words.data(), sizeof missed.miss);
  return missed;
}

std::optional<DeferredChain> parse_deferred(Bytes record) {
  if (record.size() < sizeof(perf_event_header) + kTrailerSize) return std::nullopt;
  RecordReader reader(record.first(record.size() - kTrailerSize));
  DeferredChain deferred;
  deferred.number = reader.take<std::uint64_t>();
  deferred.user = user_chain(reader.take_words(reader.take<std::uint64_t>()));
  if (reader.failed()) return std::nullopt;
  std::uint32_t thread[2];
  std::memcpy(thread, record.data() + record.size() - kTrailerSize, sizeof thread);
  deferred.tid = thread[1];
  return deferred;
}

std::optional<FileMapping> parse_mapped(Bytes record) {
  if (record.size() < sizeof(perf_event_header) + kTrailerSize) return std::nullopt;
  RecordReader reader(record.first(record.size() - kTrailerSize));
  FileMapping mapped;
  mapped.tgid = reader.take<std::uint32_t>();
  reader.take<std::uint32_t>();  // the thread
  mapped.start = reader.take<std::uint64_t>();
  mapped.length = reader.take<std::uint64_t>();
  mapped.offset = reader.take<std::uint64_t>();
  mapped.device_major = reader.take<std::uint32_t>();
  mapped.device_minor = reader.take<std::uint32_t>();
  mapped.inode = reader.take<std::uint64_t>();
  reader.take<std::uint64_t>();  // its generation
  reader.take<std::uint64_t>();  // protection and flags
  if (reader.failed()) return std::nullopt;
  mapped.path = read_text(reader.rest());
  return mapped;
}

std::optional<ForkOrExit> parse_family(Bytes record) {
  RecordReader reader(record);
  ForkOrExit family;
  family.tgid = reader.take<std::uint32_t>();
  family.parent = reader.take<std::uint32_t>();
  family.tid = reader.take<std::uint32_t>();
  if (reader.failed()) return std::nullopt;
  return family;
}

std::uint32_t parse_exec(Bytes record) {
  return (read_header(record).misc & kIsExec) != 0 ? RecordReader(record).take<std::uint32_t>() : 0;
}

std::uint64_t parse_lost_count(Bytes record) {
  RecordReader reader(record);
  reader.take<std::uint64_t>();  // the event's number
  return reader.take<std::uint64_t>();
}

}  // namespace ctprof::on_cpu

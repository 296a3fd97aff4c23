#include "plugins/on-cpu/record_writer.hpp"

#include <string_view>

namespace ctprof::on_cpu {
namespace {

ctprof_text make_text(std::string_view text) { return {text.data(), text.size()}; }

ctprof_change make_change(ctprof_change_kind kind, std::uint32_t tgid, std::uint64_t at_ns) {
  ctprof_change change{};
  change.kind = kind;
  change.tgid = tgid;
  change.at_ns = at_ns;
  return change;
}

void write_mapping(const sdk::Records& records, Bytes record, std::uint64_t at_ns) {
  const auto mapped = parse_mapped(record);
  if (!mapped) return;
  ctprof_change change = make_change(CTPROF_CHANGE_MAPPED, mapped->tgid, at_ns);
  change.start = mapped->start;
  change.length = mapped->length;
  change.offset = mapped->offset;
  change.device_major = mapped->device_major;
  change.device_minor = mapped->device_minor;
  change.inode = mapped->inode;
  change.path = make_text(mapped->path);
  records.put(change);
}

// Reports new and exited processes. New and exited threads change nothing.
void write_family(const sdk::Records& records, Bytes record, std::uint64_t at_ns) {
  const auto family = parse_family(record);
  if (!family) return;
  const bool is_fork = read_header(record).type == PERF_RECORD_FORK;
  if (is_fork ? family->tgid == family->parent : family->tgid != family->tid) return;
  ctprof_change change =
      make_change(is_fork ? CTPROF_CHANGE_FORKED : CTPROF_CHANGE_ENDED, family->tgid, at_ns);
  if (is_fork) change.parent = family->parent;
  records.put(change);
}

// Returns whether the sample has user registers. Threads that work for the kernel and belong to a
// process, such as those of io_uring and vhost, have no user part, although the kernel may write
// one with zeros.
bool has_registers(const Sample& sample) {
  return sample.registers && (sample.registers->ip != 0 || sample.registers->sp != 0);
}
bool has_chain(const Sample& sample) {
  return sample.user.size() > 1 || (sample.user.size() == 1 && sample.user.front() != 0);
}

}  // namespace

sdk::Record make_record(const Sample& sample, const Sampling& sampling, std::uint64_t at_ns) {
  sdk::Record record(sample.tgid, sample.tid, sample.weight_ns);
  record.at_ns = at_ns;
  record.set_kernel(sample.kernel);
  if (sample.walked_frames) {
    record.set_user_frames(*sample.walked_frames);
    if (sample.is_deep) record.flags |= CTPROF_RECORD_CUT;
  } else if (const auto& registers = sample.registers; has_registers(sample)) {
    record.set_user_copy(registers->ip, registers->sp, registers->bp, registers->lr, sample.stack);
  } else if (has_chain(sample)) {
    record.set_user(sample.user);
    record.flags |= CTPROF_RECORD_GUESSED;  // the kernel follows frame pointers without
                                            // verification
  } else if (sample.is_32_bit || sample.deferred) {
    record.flags |= CTPROF_RECORD_NO_USER;
  }
  if (sample.kernel.size() + sample.user.size() >= sampling.depth)
    record.flags |= CTPROF_RECORD_CUT;
  return record;
}

void write_sample(const sdk::Records& records, const Sample& sample, const Sampling& sampling,
                  std::uint64_t at_ns) {
  records.put(make_record(sample, sampling, at_ns));
  sdk::Record record(sample.tgid, sample.tid, 1);
  record.offer = kSamplesOffer;
  record.at_ns = at_ns;
  records.put(record);
}

void write_change(const sdk::Records& records, Bytes record, std::uint64_t at_ns) {
  switch (read_header(record).type) {
    case PERF_RECORD_MMAP2: return write_mapping(records, record, at_ns);
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT: return write_family(records, record, at_ns);
    case PERF_RECORD_COMM:
      if (const std::uint32_t tgid = parse_exec(record))
        records.put(make_change(CTPROF_CHANGE_EXECED, tgid, at_ns));
      return;
    default: return;
  }
}

}  // namespace ctprof::on_cpu

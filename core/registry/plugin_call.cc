#include "core/registry/plugin_call.hpp"

#include <link.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include "core/base/thread_pointer.hpp"

namespace ctprof {
namespace {

std::array<CallSlot, kCallSlots> g_slots;
std::array<std::atomic<bool>, kCallSlots> g_slot_in_use;
CallHooks g_hooks;

constinit thread_local CallSlot* t_slot = nullptr;
constinit thread_local CallSlot t_overflow_slot;  // for threads without a slot

// Frees a thread's slot when the thread exits. If a plugin ends the thread, it exits inside a call,
// and the mark stays.
void release_slot(CallSlot* slot) {
  if (slot->owner.load(std::memory_order_relaxed)) return;
  t_slot = nullptr;
  g_slot_in_use[static_cast<std::size_t>(slot - g_slots.data())].store(false,
                                                                       std::memory_order_release);
}

std::size_t free_slot() {
  for (std::size_t number = 0; number < kCallSlots; ++number)
    if (!g_slot_in_use[number].load(std::memory_order_relaxed) &&
        !g_slot_in_use[number].exchange(true, std::memory_order_acquire))
      return number;
  return kCallSlots;
}

CallSlot* take_slot() {
  static const ThreadPointer<CallSlot, &release_slot> slots;
  std::size_t number = free_slot();
  if (number < kCallSlots && !slots.set(&g_slots[number])) {
    g_slot_in_use[number].store(false, std::memory_order_release);
    number = kCallSlots;
  }
  t_slot = number < kCallSlots ? &g_slots[number] : &t_overflow_slot;
  if (g_hooks.on_first_call) g_hooks.on_first_call(number);
  return t_slot;
}

// The address range of a plugin's code: [first, last).
struct CodeRange {
  std::uintptr_t first = 0, last = 0;
  const CallOwner* owner = nullptr;
};
constexpr std::size_t kMaxCodeRanges = 1024;
std::array<CodeRange, kMaxCodeRanges> g_code_ranges;
std::atomic<std::size_t> g_code_count{0};

struct CodeSearch {
  std::uintptr_t address;
  const CallOwner* owner;
};

bool covers(const dl_phdr_info& info, const ElfW(Phdr) & segment, std::uintptr_t address) {
  const std::uintptr_t first = info.dlpi_addr + segment.p_vaddr;
  return segment.p_type == PT_LOAD && address >= first && address - first < segment.p_memsz;
}

void add_code_range(const dl_phdr_info& info, const ElfW(Phdr) & segment, const CallOwner* owner) {
  const std::size_t count = g_code_count.load(std::memory_order_relaxed);
  if (count == kMaxCodeRanges) return;
  g_code_ranges[count].first = info.dlpi_addr + segment.p_vaddr;
  g_code_ranges[count].last = info.dlpi_addr + segment.p_vaddr + segment.p_memsz;
  g_code_ranges[count].owner = owner;
  g_code_count.store(count + 1, std::memory_order_release);
}

int add_library_code(dl_phdr_info* info, std::size_t, void* data) {
  const auto& search = *static_cast<const CodeSearch*>(data);
  const auto* segments = info->dlpi_phdr;
  const auto* end = segments + info->dlpi_phnum;
  if (std::none_of(segments, end,
                   [&](const auto& segment) { return covers(*info, segment, search.address); }))
    return 0;
  for (const auto* segment = segments; segment != end; ++segment)
    if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0)
      add_code_range(*info, *segment, search.owner);
  return 1;
}

}  // namespace

const CallOwner* call_owner(std::string_view file, std::string_view source) {
  static auto* owners = new std::deque<CallOwner>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const auto existing = std::find_if(owners->begin(), owners->end(), [&](const CallOwner& owner) {
    return owner.file == file && owner.source == source;
  });
  if (existing != owners->end()) return &*existing;
  return &owners->emplace_back(CallOwner{std::string(file), std::string(source)});
}

std::array<CallSlot, kCallSlots>& call_slots() { return g_slots; }

CallSlot* current_call() { return t_slot; }

PluginCall::PluginCall(const CallOwner* owner, const char* function)
    : slot_(t_slot ? t_slot : take_slot()),
      outer_owner_(slot_->owner.load(std::memory_order_relaxed)),
      outer_function_(slot_->function.load(std::memory_order_relaxed)) {
  slot_->function.store(function, std::memory_order_relaxed);
  slot_->call_count.store(slot_->call_count.load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
  slot_->owner.store(owner, std::memory_order_release);
}

PluginCall::~PluginCall() {
  slot_->owner.store(outer_owner_, std::memory_order_relaxed);
  slot_->function.store(outer_function_, std::memory_order_relaxed);
}

void set_call_hooks(const CallHooks& hooks) { g_hooks = hooks; }
const CallHooks& call_hooks() { return g_hooks; }

LimitedCall::LimitedCall(const CallOwner& owner, const char* function) : call_(&owner, function) {
  if (g_hooks.begin_limit) g_hooks.begin_limit(owner, function);
}

LimitedCall::~LimitedCall() {
  if (g_hooks.end_limit) g_hooks.end_limit();
}

void register_code(const void* address, const CallOwner& owner) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const auto code_address = reinterpret_cast<std::uintptr_t>(address);
  if (find_owner_of_code(code_address)) return;
  CodeSearch search{code_address, &owner};
  ::dl_iterate_phdr(&add_library_code, &search);
}

const CallOwner* find_owner_of_code(std::uintptr_t address) {
  const std::size_t count = g_code_count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i)
    if (address >= g_code_ranges[i].first && address < g_code_ranges[i].last)
      return g_code_ranges[i].owner;
  return nullptr;
}

std::string format_exception_message(const CallOwner& owner, const char* function,
                                     const char* exception_text) {
  return owner.file + ": " + (owner.source.empty() ? "" : owner.source + ": ") + function +
         " threw an exception: " + exception_text;
}

}  // namespace ctprof

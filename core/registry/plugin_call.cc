#include "core/registry/plugin_call.hpp"

#include <link.h>

#include <algorithm>
#include <deque>
#include <mutex>

namespace ctprof {
namespace {

std::array<CallSlot, kCallSlots> g_slots;
std::array<std::atomic<bool>, kCallSlots> g_taken;
CallHooks g_hooks;

constinit thread_local CallSlot* t_slot = nullptr;
constinit thread_local CallSlot t_beyond;  // for threads without a slot

// Frees a thread's slot when the thread exits. If a plugin calls exit(), the thread exits inside a
// call, and the mark stays.
struct SlotHolder {
  std::size_t number = kCallSlots;
  ~SlotHolder() {
    if (!t_slot || t_slot->owner.load(std::memory_order_relaxed)) return;
    t_slot = nullptr;
    if (number < kCallSlots) g_taken[number].store(false, std::memory_order_release);
  }
};

std::size_t free_slot() {
  for (std::size_t number = 0; number < kCallSlots; ++number)
    if (!g_taken[number].load(std::memory_order_relaxed) &&
        !g_taken[number].exchange(true, std::memory_order_acquire))
      return number;
  return kCallSlots;
}

CallSlot* take_slot() {
  static thread_local SlotHolder holder;
  holder.number = free_slot();
  t_slot = holder.number < kCallSlots ? &g_slots[holder.number] : &t_beyond;
  if (g_hooks.thread_began) g_hooks.thread_began(holder.number);
  return t_slot;
}

// The address range of a plugin's code: [first, last).
struct Code {
  std::uintptr_t first = 0, last = 0;
  const CallOwner* owner = nullptr;
};
constexpr std::size_t kMostCode = 1024;
std::array<Code, kMostCode> g_code;
std::atomic<std::size_t> g_code_count{0};

struct CodeSearch {
  std::uintptr_t address;
  const CallOwner* owner;
};

bool covers(const dl_phdr_info& info, const ElfW(Phdr) & part, std::uintptr_t address) {
  const std::uintptr_t first = info.dlpi_addr + part.p_vaddr;
  return part.p_type == PT_LOAD && address >= first && address - first < part.p_memsz;
}

void remember(const dl_phdr_info& info, const ElfW(Phdr) & part, const CallOwner* owner) {
  const std::size_t count = g_code_count.load(std::memory_order_relaxed);
  if (count == kMostCode) return;
  g_code[count].first = info.dlpi_addr + part.p_vaddr;
  g_code[count].last = info.dlpi_addr + part.p_vaddr + part.p_memsz;
  g_code[count].owner = owner;
  g_code_count.store(count + 1, std::memory_order_release);
}

int remember_library(dl_phdr_info* info, std::size_t, void* data) {
  const auto& search = *static_cast<const CodeSearch*>(data);
  const auto* parts = info->dlpi_phdr;
  const auto* end = parts + info->dlpi_phnum;
  if (std::none_of(parts, end,
                   [&](const auto& part) { return covers(*info, part, search.address); }))
    return 0;
  for (const auto* part = parts; part != end; ++part)
    if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0)
      remember(*info, *part, search.owner);
  return 1;
}

}  // namespace

const CallOwner* call_owner(std::string_view file, std::string_view source) {
  static auto* owners = new std::deque<CallOwner>;
  static std::mutex adding;
  const std::lock_guard lock(adding);
  const auto known = std::find_if(owners->begin(), owners->end(), [&](const CallOwner& owner) {
    return owner.file == file && owner.source == source;
  });
  if (known != owners->end()) return &*known;
  return &owners->emplace_back(CallOwner{std::string(file), std::string(source)});
}

std::array<CallSlot, kCallSlots>& call_slots() { return g_slots; }

CallSlot* current_call() { return t_slot; }

PluginCall::PluginCall(const CallOwner* owner, const char* function)
    : slot_(t_slot ? t_slot : take_slot()),
      outer_owner_(slot_->owner.load(std::memory_order_relaxed)),
      outer_function_(slot_->function.load(std::memory_order_relaxed)) {
  slot_->function.store(function, std::memory_order_relaxed);
  slot_->calls.store(slot_->calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
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

void remember_code(const void* address, const CallOwner& owner) {
  static std::mutex adding;
  const std::lock_guard lock(adding);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (owner_of_code(at)) return;
  CodeSearch search{at, &owner};
  ::dl_iterate_phdr(&remember_library, &search);
}

const CallOwner* owner_of_code(std::uintptr_t address) {
  const std::size_t count = g_code_count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i)
    if (address >= g_code[i].first && address < g_code[i].last) return g_code[i].owner;
  return nullptr;
}

std::string thrown_in_words(const CallOwner& owner, const char* function, const char* what) {
  return owner.file + ": " + (owner.source.empty() ? "" : owner.source + ": ") + function +
         " threw an exception: " + what;
}

}  // namespace ctprof

// Compiles all sources of plugins/shared as one translation unit.

#include "plugins/shared/bpf_refusal.cc"
#include "plugins/shared/helper_confinement.cc"
#include "plugins/shared/helper_process.cc"
#include "plugins/shared/hidden_threads.cc"
#include "plugins/shared/kernel.cc"
#include "plugins/shared/text_formats.cc"
#include "plugins/shared/walk_accounts.cc"
#include "plugins/shared/walk_requests.cc"
#include "plugins/shared/walk_tables.cc"

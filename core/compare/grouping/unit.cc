// All sources of core/compare/grouping, which are compiled as one.

#include "core/compare/grouping/cgroup_renames.cc"
#include "core/compare/grouping/cgroup_similarity.cc"
#include "core/compare/grouping/grouping.cc"
#include "core/compare/grouping/key_families.cc"
#include "core/compare/grouping/name_tokens.cc"
#include "core/compare/grouping/process_cgroups.cc"
#include "core/compare/grouping/process_trees.cc"
#include "core/compare/grouping/row_grouper.cc"
#include "core/compare/grouping/row_groups.cc"
#include "core/compare/grouping/services.cc"

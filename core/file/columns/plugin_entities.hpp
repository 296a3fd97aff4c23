// Writes and reads the rows of entities of plugins, such as disks, in both layouts.
//
//   "entities":{"disk":{
//     "registry":{"metrics":[...],"derived":[]}, definitions, as in `registry` of the file
//     "tables":[{...}],                          lines as in table_line.hpp, without `kind`
//     "bases":["disk_read_bytes"],               in a window: columns with bases
//     "opening":{"columns":["disk.device"],"tables":[]}}}
//
// This is one member of the summary of a columns file, and of the object of a rows file.
// Versions without entities of plugins keep it as text, like any member that they do not know.
// Therefore reading it never fails: an entity that this version cannot read stays text as well.

#pragma once

#include <string_view>

#include "core/base/json_writer.hpp"
#include "core/snapshot/snapshot.hpp"

namespace ctprof::columns {

inline constexpr std::string_view kPluginEntitiesKey = "entities";

// Writes the member and a comma; nothing if the snapshot has no entities of plugins.
void write_plugin_entities(const Snapshot& snapshot, JsonWriter& out);

// Moves the rows from the object of that name into tables. Removes the object, or leaves in it the
// entities that this version cannot read. Without `with_rows`, only creates the columns.
// REQUIRES: the other tables were read, and the window if there is one.
void read_plugin_entities(Snapshot& snapshot, bool with_rows);

}  // namespace ctprof::columns

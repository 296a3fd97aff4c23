// Reads tables of tab-separated values with column names in the first line, as in
// plugins/vocabulary.

#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using TsvRow = std::map<std::string, std::string>;

inline std::vector<std::string> tsv_cells(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line + '\t');
  for (std::string cell; std::getline(in, cell, '\t');) cells.push_back(cell);
  return cells;
}

// Throws if the file is missing or a line has another number of cells than the first.
inline std::vector<TsvRow> read_tsv(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line)) throw std::runtime_error("cannot read '" + path + "'");
  const auto names = tsv_cells(line);
  std::vector<TsvRow> rows;
  while (std::getline(in, line)) {
    const auto cells = tsv_cells(line);
    if (cells.size() != names.size())
      throw std::runtime_error("'" + path + "': odd line '" + line + "'");
    TsvRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = cells[i];
  }
  return rows;
}

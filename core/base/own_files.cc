#include "core/base/own_files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ctprof {
namespace {

bool is_own(uid_t user) { return user == ::geteuid(); }

// A link that root owns is trusted.
std::string link_ownership_problem(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return {};
  if (is_own(status.st_uid) || status.st_uid == 0) return {};
  return "it is a symbolic link of user " + std::to_string(status.st_uid) +
         "; name the directory that it leads to";
}

}  // namespace

bool is_own_file(const struct stat& file) {
  return S_ISREG(file.st_mode) && is_own(file.st_uid) && file.st_nlink == 1;
}

std::string directory_ownership_problem(const std::string& path, int directory) {
  struct stat status {};
  if (::fstat(directory, &status) != 0) return std::strerror(errno);
  if (!is_own(status.st_uid))
    return "it belongs to user " + std::to_string(status.st_uid) + "; name a directory of your own";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0)
    return "others may write to it; run 'chmod go-w' on it, or name another directory";
  return link_ownership_problem(path);
}

}  // namespace ctprof

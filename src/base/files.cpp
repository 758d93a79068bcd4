#include "base/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace berth {
namespace {

// The error text in Go's form, in lower case.
std::string Why(int error) {
  std::string why = std::strerror(error);
  why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
  return why;
}

bool WriteAll(int file, std::string_view content) {
  while (!content.empty()) {
    const auto written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Expected<std::string> ReadWholeFile(const std::string& path) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return Fail(ErrorCode::kNotFound, fmt::format("open {}: {}", path, Why(errno)));
  std::string text;
  char buffer[1 << 16];
  for (std::size_t read = 0; (read = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
    text.append(buffer, read);
  const int error = std::ferror(file) != 0 ? errno : 0;
  if (file != stdin) std::fclose(file);
  if (error != 0) return Invalid(fmt::format("read {}: {}", path, Why(error)));
  return text;
}

Expected<void> WriteFileAtomically(const std::string& path, std::string_view content, unsigned permissions) {
  // In the same directory: a rename is atomic only within one file system.
  const std::string draft = fmt::format("{}.{}.tmp", path, ::getpid());
  const auto fail = [&](std::string_view what) {
    const std::string why = Why(errno);
    ::unlink(draft.c_str());
    return Fail(ErrorCode::kUnavailable, fmt::format("{} {}: {}", what, path, why));
  };
  ::unlink(draft.c_str());
  const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
  if (file < 0) return fail("open");
  const bool written = WriteAll(file, content) && ::fchmod(file, permissions) == 0;
  if (::close(file) != 0 || !written) return fail("write");
  if (std::rename(draft.c_str(), path.c_str()) != 0) return fail("rename");
  return {};
}

std::string FolderOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return "";
  return std::string(path.substr(0, std::max<std::size_t>(slash, 1)));
}

std::string InFolder(std::string_view folder, std::string_view path) {
  if (folder.empty() || path.empty() || path.starts_with('/')) return std::string(path);
  std::string inside(folder);
  if (!inside.ends_with('/')) inside += '/';
  return inside.append(path);
}

}  // namespace berth

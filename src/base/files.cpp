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
#include <filesystem>
#include <system_error>

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

// In the same directory: a rename is atomic only within one file system.
std::string DraftOf(std::string_view path) { return fmt::format("{}.{}.tmp", path, ::getpid()); }

// Empty if there is no such file.
std::string WithoutLinks(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::canonical(path, ignored).string();
}

// Errors of a draft or its rename that an open file does not have: a mount point, a folder without write
// permission, a file of another owner.
bool CannotReplace(int error) {
  return error == EBUSY || error == EACCES || error == EPERM || error == EROFS;
}

// As Go's os.Create.
Expected<void> WriteInPlace(const std::string& path, std::string_view content) {
  const auto fail = [&](std::string_view what) {
    return Fail(ErrorCode::kUnavailable, fmt::format("{} {}: {}", what, path, Why(errno)));
  };
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return fail("open");
  const bool written = WriteAll(file, content);
  const int error = errno;
  if (::close(file) == 0 && written) return {};
  if (!written) errno = error;
  return fail("write");
}

// `before` is null for a new file.
Expected<void> Replace(const std::string& path, std::string_view content, const struct stat* before) {
  const std::string draft = DraftOf(path);
  ::unlink(draft.c_str());
  // The content may be secret: others cannot read the draft before it has its final permissions.
  const int file =
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, before != nullptr ? 0600 : 0666);
  const char* failed = nullptr;
  int error = errno;
  const auto check = [&](bool done, const char* what) {
    if (done || failed != nullptr) return;
    failed = what;
    error = errno;
  };
  check(file >= 0, "open");
  if (file >= 0) {
    // The owner first: a change of the owner clears bits of the mode.
    if (before != nullptr)
      check(
          ::fchown(file, before->st_uid, before->st_gid) == 0 && ::fchmod(file, before->st_mode & 07777) == 0,
          "open");
    if (failed == nullptr) check(WriteAll(file, content), "write");
    check(::close(file) == 0, "write");
    if (failed == nullptr) check(std::rename(draft.c_str(), path.c_str()) == 0, "rename");
    if (failed != nullptr) ::unlink(draft.c_str());
  }
  if (failed == nullptr) return {};
  if (CannotReplace(error)) return WriteInPlace(path, content);
  return Fail(ErrorCode::kUnavailable, fmt::format("{} {}: {}", failed, path, Why(error)));
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
  const std::string draft = DraftOf(path);
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

Expected<void> WriteOutputFile(const std::string& path, std::string_view content) {
  // A path such as /dev/stdout stands for an open file, which others write to as well.
  if (path.starts_with("/dev/") || path.starts_with("/proc/")) return WriteInPlace(path, content);
  struct stat before{};
  if (::stat(path.c_str(), &before) == 0) {
    const std::string target = WithoutLinks(path);
    // A file that is not writable is an error, although a rename could replace it.
    const bool writable = ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
    if (!S_ISREG(before.st_mode) || target.empty() || !writable) return WriteInPlace(path, content);
    return Replace(target, content, &before);
  }
  // A link to a file that does not exist yet.
  if (struct stat link{}; ::lstat(path.c_str(), &link) == 0) return WriteInPlace(path, content);
  return Replace(path, content, nullptr);
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

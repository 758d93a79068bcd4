// Reads and writes whole files.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth {

// "-" is standard input. Errors have Go's form: "open /x: no such file or directory".
Expected<std::string> ReadWholeFile(const std::string& path);

// Readers see the old content or the new, never a part. The file gets these permissions, regardless of its
// former ones.
Expected<void> WriteFileAtomically(const std::string& path, std::string_view content, unsigned permissions);

// For a file that the user has named; "/dev/stdout", a pipe or a device as well. Links are followed. A
// regular file is replaced atomically, and keeps its owner and permissions; where that is impossible, such as
// in a folder without write permission, its content is overwritten. A new file has the permissions of the
// umask.
Expected<void> WriteOutputFile(const std::string& path, std::string_view content);

// "a/b" for "a/b/c", "/" for "/c", "" for "c".
std::string FolderOf(std::string_view path);
// A path that is relative to a folder: "a/b/c" for "a/b" and "c". An absolute path, an empty one, and one
// that is relative to the folder "" stay as they are.
std::string InFolder(std::string_view folder, std::string_view path);

}  // namespace berth

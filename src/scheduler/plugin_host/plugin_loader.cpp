#include "scheduler/plugin_host/plugin_loader.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "scheduler/plugin_host/load_check.hpp"
#include "scheduler/plugin_host/loaded_plugin.hpp"
#include "scheduler/plugin_host/shared_object.hpp"

namespace berth::plugin_host {
namespace {

// Checks the file first, because the dynamic linker's errors for these cases are misleading.
Expected<void> CheckFile(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return Fail(ErrorCode::kNotFound, "no such file");
  if (!std::filesystem::is_regular_file(status)) return Invalid("not a regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return Invalid(fmt::format("cannot be read: {}", std::strerror(errno)));
  char magic[SELFMAG] = {};
  file.read(magic, sizeof magic);
  if (!file || std::memcmp(magic, ELFMAG, SELFMAG) != 0) return Invalid("not a shared object");
  return {};
}

Expected<LoadedLibrary> LoadFile(const std::string& path, const LoadOptions& options) {
  BERTH_RETURN_IF_ERROR(CheckFile(path));
  BERTH_RETURN_IF_ERROR(LoadInChildProcess(path, options.deadline));
  BERTH_TRY(const SharedObject object, OpenSharedObject(path, {}));
  LoadedLibrary library{.path = path, .plugins = {}, .notes = {}};
  for (const berth_plugin& table : object.plugins) {
    library.plugins.push_back(
        {table.name, table.version != nullptr ? table.version : "", FactoryOf(table),
         std::vector<std::string>(table.annotations, table.annotations + table.annotation_count)});
  }
  if ((object.version & 0xFFFF) > BERTH_PLUGIN_MINOR) {
    library.notes.push_back(fmt::format(
        "--berth-plugin {}: is built for version {}.{} of berth_plugin.h, this is {}.{}: newer functions "
        "have no effect",
        path, object.version >> 16, object.version & 0xFFFF, BERTH_PLUGIN_MAJOR, BERTH_PLUGIN_MINOR));
  }
  return library;
}

}  // namespace

Expected<LoadedLibrary> Load(const std::string& path, const LoadOptions& options) {
  if (path.empty()) return Invalid("--berth-plugin: no file given");
  // dlopen would search a name without a slash in the system's library directories.
  auto library = LoadFile(std::filesystem::absolute(path).string(), options);
  if (!library) return std::unexpected(std::move(library).error().In("--berth-plugin " + path));
  return library;
}

}  // namespace berth::plugin_host

#include "tools/simulate/placement_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace berth::simulate {

Expected<PlacementFile> PlacementFile::Open(const std::string& path) {
  PlacementFile file;
  file.out_.reset(std::fopen(path.c_str(), "w"));
  if (file.out_ == nullptr)
    return Invalid(fmt::format("--placements: open {}: {}", path, std::strerror(errno)));
  fmt::print(file.out_.get(), "configuration,seconds,pod,node\n");
  return file;
}

void PlacementFile::Add(const std::string& configuration, Duration at, const api::Pod& pod) {
  fmt::print(out_.get(), "{},{:.6f},{},{}\n", configuration, std::chrono::duration<double>(at).count(),
             pod.metadata.Key(), pod.spec.node_name);
}

Expected<void> PlacementFile::Close(const std::string& path) {
  const bool failed = std::ferror(out_.get()) != 0;
  if (std::fclose(out_.release()) != 0 || failed)
    return Invalid(fmt::format("--placements: write {}: {}", path, std::strerror(errno)));
  return {};
}

}  // namespace berth::simulate

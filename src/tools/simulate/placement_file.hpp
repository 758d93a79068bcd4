// The CSV file of all bindings.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kubernetes/api/pod.hpp"

namespace berth::simulate {

// Written while the simulation runs. One thread.
class PlacementFile {
 public:
  // Errors name the flag.
  static Expected<PlacementFile> Open(const std::string& path);
  void Add(const std::string& configuration, Duration at, const api::Pod& pod);
  Expected<void> Close(const std::string& path);

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Closer> out_;
};

}  // namespace berth::simulate

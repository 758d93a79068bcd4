// A file for one test.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "testing/temporary_directory.hpp"

namespace berth::testing {

// Has this content; removed together with this object. Throws if its directory cannot be created.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content, const std::string& name = "manifest.yaml")
      : path_((directory_.path() / name).string()) {
    std::ofstream(path_) << content;
  }

  const std::string& path() const { return path_; }

 private:
  const TemporaryDirectory directory_;
  const std::string path_;
};

}  // namespace berth::testing

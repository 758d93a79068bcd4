// The path of an invalid field in an object: "spec.containers[0].image"; private to this module.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace berth::api {

// Built from the innermost field outwards while the readers return.
class FieldPath {
 public:
  void In(std::string_view field) { path_ = std::string(field).append(Dot()).append(path_); }
  void InItem(std::size_t index) { path_ = "[" + std::to_string(index) + "]" + Dot() + path_; }
  // "path: what", or only `what` if the path is empty.
  std::string Before(const std::string& what) const { return path_.empty() ? what : path_ + ": " + what; }

 private:
  const char* Dot() const { return path_.empty() || path_[0] == '[' ? "" : "."; }

  std::string path_;
};

}  // namespace berth::api

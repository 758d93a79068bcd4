// The user of a request.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace berth::service {

struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;

  friend bool operator==(const User&, const User&) = default;
};

}  // namespace berth::service

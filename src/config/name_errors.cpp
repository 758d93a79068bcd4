#include "config/name_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "kubernetes/api/selectors.hpp"

namespace berth::config {

bool CheckQualifiedName(const std::string& path, const std::string& name, std::vector<std::string>& errors) {
  const std::string all = api::CheckLabelKey(name);
  std::string_view wrong;
  for (std::string_view rest = all; !rest.empty();
       rest.remove_prefix(std::min(wrong.size() + 2, rest.size()))) {
    wrong = rest.substr(0, rest.find("; "));
    errors.push_back(fmt::format("{}: Invalid value: \"{}\": {}", path, name, wrong));
  }
  return all.empty();
}

}  // namespace berth::config

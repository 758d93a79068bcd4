// Watches one ConfigMap.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "kubernetes/client/api.hpp"

namespace berth {
class Random;
}
namespace berth::http {
class Loop;
}

namespace berth::service {

using ConfigMapData = std::map<std::string, std::string>;

// Parses the data of a ConfigMap. Fails if the text is not a ConfigMap.
Expected<ConfigMapData> ParseConfigMap(std::string_view text);

// Lists with a field selector for the name, then watches. A watch that ends properly is continued at its last
// version, but one without any event is followed by a new list: it may be at a version that the API server
// lost by a restore from a backup, and would stay silent. After an error it lists again: after one second at
// first, later every 30 seconds. Deleting the ConfigMap changes nothing: its last data stay valid. Lives on
// the loop; arguments must outlive it.
class ConfigMapWatch {
 public:
  ConfigMapWatch(http::Loop& loop, client::Api& api, Random& random, std::string name_space, std::string name,
                 std::function<void(const ConfigMapData&)> on_change);
  ~ConfigMapWatch();
  ConfigMapWatch(const ConfigMapWatch&) = delete;
  ConfigMapWatch& operator=(const ConfigMapWatch&) = delete;

  void Start();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::service

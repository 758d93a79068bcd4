// One ConfigMap, followed.
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

// The data of a ConfigMap as text. What is not one is an error.
Expected<ConfigMapData> ParseConfigMap(std::string_view text);

// Lists with a field selector for the name, then watches, and lists again whenever the watch does not go on:
// after a second at first, later every half minute. Deleting the ConfigMap changes nothing: what it said last
// holds. Lives on the loop; everything handed in outlives it.
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

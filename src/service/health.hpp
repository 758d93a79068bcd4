// Health checks as in k8s.io/apiserver v0.37.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::metrics {
class Registry;
}

namespace berth::service {

// A named condition. `failure` returns the reason if it does not hold, else nullopt; called on the server's
// thread, must not block.
struct Check {
  std::string name;
  std::function<std::optional<std::string>()> failure;
};

// A check that always succeeds: the process responds.
Check Ping();

struct HealthAnswer {
  int status = 200;
  std::string body;
};

// The checks of one path, e.g. "readyz". Every evaluation counts in kubernetes_healthcheck{name,type} and
// kubernetes_healthchecks_total{name,type,status} of `slis`, which must outlive this object. One thread.
class HealthPath {
 public:
  // Without checks it has only ping.
  HealthPath(std::string name, std::vector<Check> checks, metrics::Registry& slis);

  // "ok", or with `verbose` a line per check. A failure is always reported line by line, without its reason:
  // the path is public, reasons are logged.
  HealthAnswer All(bool verbose, const std::vector<std::string>& exclude);
  // A single check, with its reason; nullopt if there is no check with this name.
  std::optional<HealthAnswer> One(std::string_view check);

  const std::string& name() const { return name_; }

 private:
  std::optional<std::string> Evaluate(const Check& check);

  const std::string name_;
  const std::vector<Check> checks_;
  metrics::Registry& slis_;
};

}  // namespace berth::service

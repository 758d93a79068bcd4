// Health checks as k8s.io/apiserver v0.37 answers them.
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

// A named condition. `failure` says why it does not hold, or nothing; called on the server's thread, must not
// block.
struct Check {
  std::string name;
  std::function<std::optional<std::string>()> failure;
};

// A check that always holds: the process answers.
Check Ping();

struct HealthAnswer {
  int status = 200;
  std::string body;
};

// The checks behind one path, e.g. "readyz". Every look counts in kubernetes_healthcheck{name,type} and
// kubernetes_healthchecks_total{name,type,status} of `slis`, which outlives this object. One thread.
class HealthPath {
 public:
  // Without checks it is a ping.
  HealthPath(std::string name, std::vector<Check> checks, metrics::Registry& slis);

  // "ok", or with `verbose` a line per check. A failure is always told line by line, without its reason: the
  // path is open to everybody, reasons go to the log.
  HealthAnswer All(bool verbose, const std::vector<std::string>& exclude);
  // A single check, with its reason; nothing if there is none of that name.
  std::optional<HealthAnswer> One(std::string_view check);

  const std::string& name() const { return name_; }

 private:
  std::optional<std::string> Look(const Check& check);

  const std::string name_;
  const std::vector<Check> checks_;
  metrics::Registry& slis_;
};

}  // namespace berth::service

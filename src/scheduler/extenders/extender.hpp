// One configured extender: the pods it manages, its requests, its metrics.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "config/extender_config.hpp"
#include "kubernetes/api/objects.hpp"
#include "scheduler/extenders/circuit.hpp"
#include "scheduler/extenders/transport.hpp"

namespace berth::metrics {
class Registry;
}

namespace berth::extenders {

// Metrics and options of extenders.
struct Metrics {
  metrics::Registry* registry = nullptr;  // null: no metrics
  const Clock* clock = nullptr;           // null: the system clock
  CircuitOptions circuit{};
};

// Scheduler loop only; responses may arrive on any thread.
class Extender {
 public:
  Extender(config::ExtenderConfig config, std::unique_ptr<Transport> transport, const Metrics& metrics);
  ~Extender();
  Extender(const Extender&) = delete;
  Extender& operator=(const Extender&) = delete;

  // The urlPrefix, which identifies the extender in messages.
  // The URL prefix without password: for messages, events, records and metrics.
  const std::string& name() const { return name_; }
  const config::ExtenderConfig& config() const { return config_; }
  bool ignorable() const { return config_.ignorable; }
  // Whether a container or init container requests a resource that the extender manages. An extender without
  // managed resources is interested in every pod.
  bool IsInterested(const api::Pod& pod) const;

  // Sends a request. `done` is called once, from any thread, possibly before this returns; the reply must be
  // passed to Take on the loop's thread, together with the returned Asked.
  struct PendingCall {
    Transport::CallId call = 0;
    MonoTime began{};
    bool sent = false;  // false: the circuit is open
  };
  PendingCall Send(std::string_view verb, std::string body, Transport::Done done,
                   std::function<std::optional<std::string>()> refused = {});
  void Cancel(const PendingCall& pending);
  // Evaluates a response: status 200 is success, any other an error with kube-scheduler's text.
  Expected<Reply> Take(std::string_view verb, const PendingCall& pending, Expected<Reply> reply);
  // Reports whether the response could be decoded, for metrics and the circuit breaker.
  void Evaluated(std::string_view verb, const PendingCall& pending, bool succeeded);
  void CountInvalidScores(std::size_t count);
  Circuit& circuit() { return circuit_; }

 private:
  struct CallMetrics;
  const config::ExtenderConfig config_;
  const std::string name_;
  const std::unique_ptr<Transport> transport_;
  const Metrics metrics_;
  std::set<std::string, std::less<>> managed_;
  Circuit circuit_;
  std::unique_ptr<CallMetrics> call_metrics_;
};

}  // namespace berth::extenders

// One extender of the configuration: which pods it is interested in, how it is asked, how it fares.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "kubernetes/api/objects.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "config/extender_config.hpp"
#include "scheduler/extenders/circuit.hpp"
#include "scheduler/extenders/transport.hpp"

namespace berth::metrics {
class Registry;
}

namespace berth::extenders {

// With what extenders are watched.
struct Meters {
  metrics::Registry* registry = nullptr;  // null: nobody measures
  const Clock* clock = nullptr;           // null: the system's
  CircuitOptions circuit{};
};

// Belongs to one thread, the scheduler loop's; answers come from any.
class Extender {
 public:
  Extender(config::ExtenderConfig config, std::unique_ptr<Transport> transport, const Meters& meters);
  ~Extender();
  Extender(const Extender&) = delete;
  Extender& operator=(const Extender&) = delete;

  // urlPrefix: its name in messages.
  const std::string& name() const { return config_.url_prefix; }
  const config::ExtenderConfig& config() const { return config_; }
  bool ignorable() const { return config_.ignorable; }
  // Does a container or init container name a resource that the extender manages? Without such resources it
  // is interested in every pod.
  bool IsInterestedIn(const api::Pod& pod) const;

  // Sends the question. `done` is called once, from any thread, perhaps before this returns; whoever gets the
  // reply hands it to Take on our thread. `began` goes there too.
  struct Asked {
    Transport::CallId call = 0;
    MonoTime began{};
    bool sent = false;  // false: the circuit is open
  };
  Asked Ask(std::string_view verb, std::string body, Transport::Done done,
            std::function<std::optional<std::string>()> refused = {});
  void Cancel(const Asked& asked);
  // What the answer is worth: 200 is success, everything else an error in kube-scheduler's words.
  Expected<Reply> Take(std::string_view verb, const Asked& asked, Expected<Reply> reply);
  // The answer could be read to its end, or not: what metrics and circuit go by.
  void Evaluated(std::string_view verb, const Asked& asked, bool well);
  void CountOddScores(std::size_t count);

 private:
  struct Measured;
  const config::ExtenderConfig config_;
  const std::unique_ptr<Transport> transport_;
  const Meters meters_;
  std::set<std::string, std::less<>> managed_;
  Circuit circuit_;
  std::unique_ptr<Measured> measured_;
};

}  // namespace berth::extenders

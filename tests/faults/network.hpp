// The network between the schedulers and the API server: latency, lost messages, broken connections, and
// errors of the server.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "base/random.hpp"
#include "http/client.hpp"
#include "http/server.hpp"
#include "tests/faults/machine.hpp"
#include "tests/faults/timeline.hpp"

namespace berth::faults {

// Probabilities of faults per request, in thousandths.
struct RequestFaults {
  int lost_request = 0;  // the connection breaks before the server receives the request
  int lost_response =
      0;                 // the server executes the request; the connection breaks before the response arrives
  int no_response = 0;   // the server executes the request; the client waits for its timeout
  int server_error = 0;  // 500, 503, 429 or 504 instead of the execution
  int conflict = 0;      // 409 for PUT and PATCH instead of the execution
  int denied = 0;        // 403 for a binding instead of the execution, as an admission webhook does
  int delayed = 0;       // of writes: the connection breaks, and the server executes the request kLate later
  int repeated = 0;  // of writes: the response is lost, and the server executes the request again kLate later
  int executed_error = 0;  // the server executes the request and returns 500 or 504
  int duplicate = 0;       // a watch delivers an event twice
  int cut = 0;             // a watch breaks before an event
};

// State of the connections of one replica. Changes affect the messages that are sent from then on.
struct Link {
  bool partitioned = false;  // messages of both directions are lost; see Network::SetPartitioned
  int slowness = 1;          // factor of the latency
  RequestFaults faults{};
  std::map<std::string, Duration>
      stalled_until{};  // watches by resource: events are delivered only after this
};

// The process whose request the server executes.
struct Client {
  std::string process;
  bool late = false;  // the process has given the request up, and may have sent newer ones
};

// Executes a request of a client.
using ServerHandler = std::function<void(http::Request, std::shared_ptr<http::Exchange>)>;

class Connection;

// All connections. One thread.
class Network {
 public:
  // How late a request arrives: at most.
  static constexpr std::chrono::seconds kLate{20};

  Network(simulation::VirtualTime& time, std::uint64_t seed, Timeline& timeline, ServerHandler server);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // The connections of the replica with this index.
  Link& link(std::size_t replica) { return links_[replica]; }
  // Constant latencies instead of random ones.
  void SetCalm() { calm_ = true; }
  // While the server is down, connections are refused. Going down breaks all of them.
  void SetServerDown(bool down);
  // While it lasts, messages are lost. A watch that has lost an event delivers nothing more. At the end some
  // of these connections are reset; the others stay silent until their client gives up.
  void SetPartitioned(std::size_t replica, bool partitioned);
  // Breaks watches of this replica; `chance`: the probability per watch in thousandths.
  void CutWatches(std::size_t replica, int chance);
  // Called when the server receives a request of a replica, before it executes it.
  std::function<void(const Client&, const http::Request&)> on_request;
  // While the server executes a request: its client. Otherwise null.
  const Client* executing() const { return executing_; }

  std::uint64_t requests() const { return requests_; }
  const std::map<std::string, std::uint64_t>& injected() const { return injected_; }

 private:
  friend class Connection;
  struct Call;
  struct ServerStream;
  class ServerExchange;
  using CallPtr = std::shared_ptr<Call>;

  Duration Latency(const Link& link);
  bool Happens(int thousandths, const char* fault);
  bool ArrivesLate(const CallPtr& call);
  bool Refuses(const CallPtr& call);
  void Transmit(const CallPtr& call);
  void Execute(const CallPtr& call);
  http::Response InjectedError();
  void Respond(const CallPtr& call, http::Response response);
  void DeliverLine(const CallPtr& call, std::string line);
  void Break(const CallPtr& call, Error error);

  simulation::VirtualTime& time_;
  Random random_;
  Timeline& timeline_;
  const ServerHandler server_;
  std::map<std::size_t, Link> links_;
  bool calm_ = false;
  bool down_ = false;
  const Client* executing_ = nullptr;
  std::uint64_t requests_ = 0;
  std::map<std::string, std::uint64_t> injected_;
  std::list<std::weak_ptr<Call>> streams_;
};

// The transport of one process of a replica. After its destruction no callback is called; the server still
// receives requests that were sent before.
class Connection final : public http::Transport {
 public:
  // `process` is the identity of the process. The arguments must outlive the connection.
  Connection(Network& network, Machine& machine, std::size_t replica, std::string process);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  CallId Send(http::ClientRequest request, http::ClientDone done) override;
  CallId Stream(http::ClientRequest request, http::StreamOptions options, http::ClientDone done) override;
  void Cancel(CallId call) override;
  Expected<void> SetTls(const http::TlsOptions&) override { return {}; }

 private:
  friend class Network;
  CallId Begin(http::ClientRequest request, bool streamed, http::StreamOptions options,
               http::ClientDone done);
  void CheckIdle(const std::shared_ptr<Network::Call>& call);
  // Calls `done` once and forgets the call.
  void Finish(const std::shared_ptr<Network::Call>& call, Expected<http::ClientResponse> result);

  Network& network_;
  Machine& machine_;
  const std::size_t replica_;
  const std::string process_;
  CallId last_call_ = 0;
  std::map<CallId, std::shared_ptr<Network::Call>> calls_;
};

}  // namespace berth::faults

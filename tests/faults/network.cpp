#include "tests/faults/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace berth::faults {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

Error ConnectionReset() { return Error{ErrorCode::kAmbiguous, "connection reset by peer"}; }

// "pods" of "/api/v1/pods?watch=true", "leases" of ".../namespaces/kube-system/leases/x".
std::string ResourceOf(const std::string& target) {
  const std::string path = target.substr(0, target.find('?'));
  std::vector<std::string> parts;
  for (std::size_t begin = 1; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  std::size_t first = !parts.empty() && parts[0] == "api" ? 2 : 3;
  if (parts.size() > first + 2 && parts[first] == "namespaces") first += 2;
  return first < parts.size() ? parts[first] : path;
}

http::Response Status(int code, std::string_view reason, std::string_view message) {
  return {
      .status = code,
      .content_type = "application/json",
      .body = ShareText(fmt::format(
          R"({{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"{}","message":"{}","code":{}}})",
          reason, message, code))};
}

bool IsBinding(const http::ClientRequest& request) {
  return request.method == "POST" && request.target.ends_with("/binding");
}

}  // namespace

struct Network::Call {
  Connection* connection = nullptr;  // null: the process has ended, or the call
  std::size_t replica = 0;
  std::string process;
  http::Transport::CallId id = 0;
  http::ClientRequest request;
  bool streamed = false;
  http::StreamOptions options;
  http::ClientDone done;
  bool sent = false;
  bool no_response = false;    // the response is lost, and the client waits for its timeout
  bool lost_response = false;  // the response is lost with the connection
  bool executed_error = false;
  bool silent = false;  // a message to the client was lost: nothing more arrives
  bool late = false;    // see Client
  std::string resource;
  Duration last_delivery{};            // of a message to the client: TCP keeps their order
  MonoTime last_data{};                // by the client's clock
  std::weak_ptr<ServerStream> stream;  // the server's side
};

// The server's side of a watch.
struct Network::ServerStream final : http::Stream {
  explicit ServerStream(Network& network, CallPtr call) : network(network), call(std::move(call)) {}
  ~ServerStream() override { Close(); }

  bool Write(http::Piece piece) override {
    if (closed || broken) return false;
    buffer.append(piece.before).append(piece.text ? *piece.text : "").append(piece.after);
    for (auto end = buffer.find('\n'); end != std::string::npos; end = buffer.find('\n')) {
      std::string line = buffer.substr(0, end);
      buffer.erase(0, end + 1);
      network.DeliverLine(call, std::move(line));
      if (broken) return false;
    }
    return true;
  }
  void Close() override {
    if (closed || broken) return;
    closed = true;
    network.Respond(call, {.status = 200, .content_type = ""});
  }
  void OnGone(std::function<void()> callback) override { gone = std::move(callback); }
  void Break() {
    if (closed || broken) return;
    broken = true;
    // Not from within Write.
    if (auto callback = std::exchange(gone, nullptr)) network.time_.After({}, std::move(callback));
  }

  Network& network;
  const CallPtr call;
  std::string buffer;
  std::function<void()> gone;
  bool closed = false;
  bool broken = false;
};

class Network::ServerExchange final : public http::Exchange {
 public:
  ServerExchange(Network& network, CallPtr call) : network_(network), call_(std::move(call)) {}
  void Respond(http::Response response) override { network_.Respond(call_, std::move(response)); }
  std::shared_ptr<http::Stream> StartStream(http::Response, std::size_t) override {
    auto stream = std::make_shared<ServerStream>(network_, call_);
    call_->stream = stream;
    network_.streams_.push_back(call_);
    const Link& link = network_.links_[call_->replica];
    if (!link.partitioned) {
      call_->last_delivery = std::max(call_->last_delivery, network_.time_.now() + network_.Latency(link));
      if (call_->connection != nullptr) {
        call_->connection->machine_.RunAt(call_->last_delivery - network_.time_.now(), [call = call_] {
          if (call->connection != nullptr && call->options.on_open) call->options.on_open();
        });
      }
    }
    return stream;
  }

 private:
  Network& network_;
  const CallPtr call_;
};

Network::Network(simulation::VirtualTime& time, std::uint64_t seed, Timeline& timeline, ServerHandler server)
    : time_(time), random_(seed), timeline_(timeline), server_(std::move(server)) {}
// The server may end its streams later.
Network::~Network() {
  for (const auto& weak : streams_) {
    const CallPtr call = weak.lock();
    const auto stream = call == nullptr ? nullptr : call->stream.lock();
    if (stream != nullptr) stream->broken = true;
  }
}

Duration Network::Latency(const Link& link) {
  if (calm_) return milliseconds(1) * link.slowness;
  // Mostly less than a millisecond, rarely many.
  Duration latency = microseconds(100 + random_.Below(900));
  if (random_.Below(50) == 0) latency += milliseconds(random_.Below(40));
  return latency * link.slowness;
}

bool Network::Happens(int thousandths, const char* fault) {
  if (thousandths <= 0 || random_.Below(1000) >= static_cast<std::uint64_t>(thousandths)) return false;
  ++injected_[fault];
  return true;
}

// The client has written the request to its socket.
void Network::Transmit(const CallPtr& call) {
  Link& link = links_[call->replica];
  call->sent = true;
  if (link.partitioned) return;  // the client waits for its timeout
  const RequestFaults& faults = link.faults;
  if (Happens(faults.lost_request, "lost request")) {
    timeline_.Add(call->process, "{} {}: the request is lost", call->request.method, call->request.target);
    return Break(call, ConnectionReset());
  }
  if (ArrivesLate(call)) return;
  if (Happens(faults.lost_response, "lost response")) call->lost_response = true;
  if (Happens(faults.no_response, "no response")) call->no_response = true;
  if (Happens(faults.executed_error, "error after execution")) call->executed_error = true;
  time_.After(Latency(link), [this, call] { Execute(call); });
}

// A retransmission, or a proxy with a queue, delivers the request after its client has given it up.
bool Network::ArrivesLate(const CallPtr& call) {
  if (call->streamed || call->request.method == "GET") return false;
  const RequestFaults& faults = links_[call->replica].faults;
  const bool delayed = Happens(faults.delayed, "delayed request");
  if (!delayed && !Happens(faults.repeated, "repeated request")) return false;
  auto copy = std::make_shared<Call>();
  copy->replica = call->replica;
  copy->process = call->process;
  copy->request = call->request;
  copy->resource = call->resource;
  copy->late = true;
  time_.After(milliseconds(1'000 + random_.Below((kLate - seconds(1)) / milliseconds(1))),
              [this, copy] { Execute(copy); });
  if (delayed) Break(call, ConnectionReset());
  if (!delayed) call->lost_response = true;
  return delayed;
}

void Network::Execute(const CallPtr& call) {
  if (down_) return Break(call, ConnectionReset());
  ++requests_;
  if (Refuses(call)) return;
  http::Request request;
  request.method = call->request.method;
  request.target = call->request.target;
  for (const auto& [name, value] : call->request.headers) request.headers.Add(name, value);
  request.body = call->request.shared_body ? *call->request.shared_body : call->request.body;
  const Client client{call->process, call->late};
  if (client.late) timeline_.Add(client.process, "{} {} arrives late", request.method, request.target);
  if (on_request) on_request(client, request);
  executing_ = &client;
  server_(std::move(request), std::make_shared<ServerExchange>(*this, call));
  executing_ = nullptr;
}

// Responds with an error instead of the execution.
bool Network::Refuses(const CallPtr& call) {
  const RequestFaults& faults = links_[call->replica].faults;
  const bool changes = call->request.method == "PUT" || call->request.method == "PATCH";
  std::optional<http::Response> refusal;
  if (Happens(faults.server_error, "server error")) {
    refusal = InjectedError();
  } else if (changes && Happens(faults.conflict, "conflict")) {
    refusal = Status(409, "Conflict", "the object has been modified");
  } else if (IsBinding(call->request) && Happens(faults.denied, "denied binding")) {
    refusal =
        Status(403, "Forbidden", R"(admission webhook \"pods.example.com\" denied the request: injected)");
  }
  if (!refusal) return false;
  timeline_.Add(call->process, "{} {}: refused with {}", call->request.method, call->request.target,
                refusal->status);
  Respond(call, *std::move(refusal));
  return true;
}

http::Response Network::InjectedError() {
  switch (random_.Below(4)) {
    case 0:
      return Status(500, "InternalError", "Internal error occurred: injected");
    case 1:
      return Status(503, "ServiceUnavailable", "injected");
    case 2: {
      http::Response busy = Status(429, "TooManyRequests", "injected");
      busy.headers = {{"Retry-After", "1"}};
      return busy;
    }
    default:
      return Status(504, "Timeout", "injected: the request timed out");
  }
}

// The server has responded, or has ended the stream.
void Network::Respond(const CallPtr& call, http::Response response) {
  const Link& link = links_[call->replica];
  if (link.partitioned) call->silent = true;
  if (call->no_response || call->silent || call->connection == nullptr) return;
  if (call->executed_error && !call->streamed) response = InjectedError();
  if (call->lost_response) {
    timeline_.Add(call->process, "{} {}: the response is lost", call->request.method, call->request.target);
    return Break(call, ConnectionReset());
  }
  call->last_delivery = std::max(call->last_delivery, time_.now() + Latency(link));
  http::ClientResponse received;
  received.status = response.status;
  if (!response.content_type.empty()) received.headers.emplace_back("Content-Type", response.content_type);
  for (const auto& [name, value] : response.headers) received.headers.emplace_back(name, value);
  if (response.body) received.body = *response.body;
  call->connection->machine_.RunAt(call->last_delivery - time_.now(),
                                   [call, received = std::move(received)]() mutable {
                                     if (call->connection != nullptr)
                                       call->connection->Finish(call, std::move(received));
                                   });
}

void Network::DeliverLine(const CallPtr& call, std::string line) {
  const Link& link = links_[call->replica];
  if (link.partitioned) call->silent = true;
  if (call->connection == nullptr || call->no_response || call->silent) return;
  if (Happens(link.faults.cut, "watch cut")) {
    timeline_.Add(call->process, "the watch of {} breaks", call->resource);
    return Break(call, ConnectionReset());
  }
  Duration at = time_.now() + Latency(link);
  if (const auto stalled = link.stalled_until.find(call->resource); stalled != link.stalled_until.end())
    at = std::max(at, stalled->second);
  call->last_delivery = std::max(call->last_delivery, at);
  const int times = Happens(link.faults.duplicate, "duplicate event") ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    call->connection->machine_.RunAt(call->last_delivery - time_.now(), [call, line] {
      if (call->connection == nullptr) return;
      call->last_data = call->connection->machine_.Now();
      if (!call->options.on_line(line))
        call->connection->Finish(call, Fail(ErrorCode::kCancelled, "the reader ended the stream"));
    });
  }
}

// Both ends are told that the connection is broken.
void Network::Break(const CallPtr& call, Error error) {
  if (const auto stream = call->stream.lock()) stream->Break();
  if (call->connection == nullptr) return;
  call->last_delivery = std::max(call->last_delivery, time_.now() + Latency(links_[call->replica]));
  call->connection->machine_.RunAt(call->last_delivery - time_.now(),
                                   [call, error = std::move(error)]() mutable {
                                     if (call->connection != nullptr)
                                       call->connection->Finish(call, std::unexpected(std::move(error)));
                                   });
}

void Network::SetServerDown(bool down) {
  down_ = down;
  if (!down) return;
  for (const auto& weak : std::exchange(streams_, {})) {
    if (const CallPtr call = weak.lock()) Break(call, ConnectionReset());
  }
}

void Network::SetPartitioned(std::size_t replica, bool partitioned) {
  links_[replica].partitioned = partitioned;
  if (partitioned) return;
  std::vector<CallPtr> reset;
  for (const auto& weak : streams_) {
    const CallPtr call = weak.lock();
    if (call != nullptr && call->replica == replica && call->silent && random_.Below(2) == 0)
      reset.push_back(call);
  }
  for (const CallPtr& call : reset) Break(call, ConnectionReset());
}

void Network::CutWatches(std::size_t replica, int chance) {
  std::vector<CallPtr> cut;
  for (auto it = streams_.begin(); it != streams_.end();) {
    const CallPtr call = it->lock();
    const bool gone = call == nullptr || call->connection == nullptr;
    if (!gone && call->replica == replica && random_.Below(1000) < static_cast<std::uint64_t>(chance))
      cut.push_back(call);
    it = gone ? streams_.erase(it) : std::next(it);
  }
  for (const CallPtr& call : cut) {
    timeline_.Add(call->process, "the watch of {} breaks", call->resource);
    Break(call, ConnectionReset());
  }
}

Connection::Connection(Network& network, Machine& machine, std::size_t replica, std::string process)
    : network_(network), machine_(machine), replica_(replica), process_(std::move(process)) {}

Connection::~Connection() {
  for (auto& [id, call] : std::exchange(calls_, {})) {
    call->connection = nullptr;
    if (const auto stream = call->stream.lock()) stream->Break();
  }
}

http::Transport::CallId Connection::Send(http::ClientRequest request, http::ClientDone done) {
  return Begin(std::move(request), false, {}, std::move(done));
}

http::Transport::CallId Connection::Stream(http::ClientRequest request, http::StreamOptions options,
                                           http::ClientDone done) {
  return Begin(std::move(request), true, std::move(options), std::move(done));
}

http::Transport::CallId Connection::Begin(http::ClientRequest request, bool streamed,
                                          http::StreamOptions options, http::ClientDone done) {
  auto call = std::make_shared<Network::Call>();
  call->connection = this;
  call->replica = replica_;
  call->process = process_;
  call->id = ++last_call_;
  call->request = std::move(request);
  call->streamed = streamed;
  call->options = std::move(options);
  call->done = std::move(done);
  call->resource = ResourceOf(call->request.target);
  call->last_data = machine_.Now();
  calls_.emplace(call->id, call);
  if (call->request.timeout > Duration::zero()) {
    machine_.After(call->request.timeout, [call] {
      if (call->connection == nullptr) return;
      if (const auto stream = call->stream.lock()) stream->Break();
      call->connection->Finish(
          call, Fail(call->sent ? ErrorCode::kTimeout : ErrorCode::kUnavailable, "the deadline has passed"));
    });
  }
  if (streamed && call->options.idle_timeout > Duration::zero()) CheckIdle(call);
  machine_.Post([this, call] {
    if (call->connection == nullptr) return;
    if (network_.down_) return Finish(call, Fail(ErrorCode::kUnavailable, "connection refused"));
    if (call->request.refused) {
      if (auto reason = call->request.refused()) return Finish(call, Fail(ErrorCode::kCancelled, *reason));
    }
    network_.Transmit(call);
  });
  return call->id;
}

void Connection::CheckIdle(const std::shared_ptr<Network::Call>& call) {
  const Duration left = call->last_data + call->options.idle_timeout - machine_.Now();
  if (left > Duration::zero()) {
    machine_.After(left, [call] {
      if (call->connection != nullptr) call->connection->CheckIdle(call);
    });
    return;
  }
  if (const auto stream = call->stream.lock()) stream->Break();
  Finish(call, Fail(ErrorCode::kTimeout, "no data within the idle timeout"));
}

void Connection::Cancel(CallId id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  const auto call = found->second;
  if (const auto stream = call->stream.lock()) stream->Break();
  Finish(call, Fail(ErrorCode::kCancelled, "cancelled"));
}

void Connection::Finish(const std::shared_ptr<Network::Call>& call, Expected<http::ClientResponse> result) {
  call->connection = nullptr;
  calls_.erase(call->id);
  if (const auto stream = call->stream.lock()) stream->Break();
  if (auto done = std::move(call->done)) done(std::move(result));
}

}  // namespace berth::faults

#include "http/client.hpp"

#include <algorithm>
#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <set>

#include "base/ascii.hpp"
#include "http/client_connection.hpp"
#include "http/io_thread.hpp"

namespace berth::http {
namespace {

// Requests that are idempotent in HTTP and that Go's client repeats on a stale connection.
bool Idempotent(const ClientRequest& request) {
  return request.method == "GET" || request.method == "HEAD" || request.method == "OPTIONS";
}

}  // namespace

const std::string* ClientResponse::Find(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (EqualsIgnoringAsciiCase(key, name)) return &value;
  }
  return nullptr;
}

// The pool. Only the atomic counter is used outside of the io thread.
struct Client::Impl {
  using ConnectionPtr = std::shared_ptr<ClientConnection>;
  using OutgoingPtr = std::shared_ptr<Outgoing>;
  struct Active {
    OutgoingPtr outgoing{};
    ConnectionPtr connection{};      // null while it waits for one
    bool counted = false;            // against max_connections
    MonoTime due = MonoTime::max();  // its key in `deadlines`; recomputed then, see NextDeadline
  };

  Impl(IoThread& io, ClientOptions options) : io(io), options(std::move(options)) {}

  IoThread& io;
  ClientOptions options;
  std::shared_ptr<boost::asio::ssl::context> tls;
  std::uint64_t tls_generation = 0;
  std::atomic<CallId> last_id{0};
  boost::unordered_flat_map<CallId, Active> active;
  std::deque<OutgoingPtr> waiting;
  std::vector<ConnectionPtr> idle;  // most recently used at the back
  std::size_t busy = 0;             // connections counted against max_connections
  std::set<std::pair<MonoTime, CallId>> deadlines;
  MonoTime timer_at = MonoTime::max();
  Loop::TimerId timer = Loop::TimerId::kNone;
  Loop::TimerId idle_timer = Loop::TimerId::kNone;
  bool closing = false;

  CallId Submit(ClientRequest request, std::optional<StreamOptions> stream, ClientDone done);
  void Begin(const OutgoingPtr& outgoing);
  void Carry(const OutgoingPtr& outgoing);
  void OnCarried(const OutgoingPtr& outgoing, const ConnectionPtr& connection, std::uint64_t generation,
                 Carried carried);
  void Finish(const OutgoingPtr& outgoing, Expected<ClientResponse> result);
  void Cut(CallId id, Error why);
  void ServeWaiting();
  ConnectionPtr Take();
  ConnectionPtr Fresh();
  MonoTime NextDeadline(const Active& entry) const;
  void Schedule(Active& entry);
  void ArmTimer();
  void OnTimer();
  void KeepIdle(const ConnectionPtr& connection);
  void DropOldIdle();
  void Shutdown();
};

Transport::CallId Client::Impl::Submit(ClientRequest request, std::optional<StreamOptions> stream,
                                       ClientDone done) {
  auto outgoing = std::make_shared<Outgoing>();
  outgoing->id = ++last_id;
  outgoing->request = std::move(request);
  outgoing->stream = std::move(stream);
  outgoing->done = std::move(done);
  if (outgoing->request.timeout > Duration::zero()) outgoing->deadline = io.Now() + outgoing->request.timeout;
  const CallId id = outgoing->id;
  if (io.OnThread()) {
    Begin(outgoing);
  } else {
    io.Post([this, outgoing = std::move(outgoing)] { Begin(outgoing); });
  }
  return id;
}

void Client::Impl::Begin(const OutgoingPtr& outgoing) {
  if (closing) {
    io.Post([outgoing] { outgoing->done(Fail(ErrorCode::kCancelled, "the client is closing")); });
    return;
  }
  Active& entry = active.emplace(outgoing->id, Active{.outgoing = outgoing}).first->second;
  if (outgoing->stream || busy < options.max_connections) {
    Carry(outgoing);
  } else {
    waiting.push_back(outgoing);
    Schedule(entry);
  }
}

void Client::Impl::Carry(const OutgoingPtr& outgoing) {
  Active& entry = active.at(outgoing->id);
  entry.counted = !outgoing->stream;
  if (entry.counted) ++busy;
  const ConnectionPtr connection = outgoing->replayed ? Fresh() : Take();
  entry.connection = connection;
  outgoing->connect_by = std::min(outgoing->deadline, io.Now() + options.connect_timeout);
  outgoing->last_byte = io.Now();
  Schedule(entry);
  connection->Carry(outgoing, [this, outgoing, connection, generation = tls_generation](Carried carried) {
    if (outgoing->ended) return;  // cancelled earlier, possibly by Shutdown: `this` may be destroyed
    OnCarried(outgoing, connection, generation, std::move(carried));
  });
}

void Client::Impl::OnCarried(const OutgoingPtr& outgoing, const ConnectionPtr& connection,
                             std::uint64_t generation, Carried carried) {
  Active& entry = active.at(outgoing->id);
  if (entry.counted) --busy;
  entry.counted = false;
  if (carried.stale && Idempotent(outgoing->request) && !std::exchange(outgoing->replayed, true)) {
    return Carry(outgoing);
  }
  if (carried.reusable && generation == tls_generation) KeepIdle(connection);
  ServeWaiting();
  Finish(outgoing, std::move(carried.response));
}

void Client::Impl::Finish(const OutgoingPtr& outgoing, Expected<ClientResponse> result) {
  outgoing->ended = true;
  const auto found = active.find(outgoing->id);
  deadlines.erase({found->second.due, outgoing->id});
  active.erase(found);
  outgoing->done(std::move(result));
}

// Ends a call with an error.
void Client::Impl::Cut(CallId id, Error why) {
  const auto found = active.find(id);
  if (found == active.end()) return;
  const Active entry = found->second;
  if (entry.counted) --busy;
  if (entry.outgoing->body_so_far != nullptr && why.code == ErrorCode::kTimeout) {
    ClientResponse response = entry.outgoing->CutShort(why);
    entry.connection->Abort(std::move(why));
    ServeWaiting();
    return Finish(entry.outgoing, std::move(response));
  }
  if (entry.connection) {
    // If the deadline passes before the request could be sent, it certainly had no effect.
    if (why.code == ErrorCode::kTimeout && !entry.connection->connected()) why.code = ErrorCode::kUnavailable;
    entry.connection->Abort(why);
  } else {
    std::erase(waiting, entry.outgoing);
    if (why.code == ErrorCode::kTimeout) why.code = ErrorCode::kUnavailable;
  }
  ServeWaiting();
  Finish(entry.outgoing, std::unexpected(std::move(why)));
}

void Client::Impl::ServeWaiting() {
  while (!waiting.empty() && busy < options.max_connections) {
    const OutgoingPtr next = std::move(waiting.front());
    waiting.pop_front();
    Carry(next);
  }
}

Client::Impl::ConnectionPtr Client::Impl::Take() {
  while (!idle.empty()) {
    ConnectionPtr connection = std::move(idle.back());
    idle.pop_back();
    if (connection->Usable()) return connection;
  }
  return Fresh();
}

Client::Impl::ConnectionPtr Client::Impl::Fresh() {
  return std::make_shared<ClientConnection>(io.context(), options.origin, options.proxy, tls,
                                            options.tls.server_name, [&loop = io] { return loop.Now(); });
}

MonoTime Client::Impl::NextDeadline(const Active& entry) const {
  MonoTime next = entry.outgoing->deadline;
  if (!entry.connection) return next;
  if (!entry.connection->connected()) return entry.outgoing->connect_by;
  const auto& stream = entry.outgoing->stream;
  if (stream && stream->idle_timeout > Duration::zero()) {
    next = std::min(next, entry.outgoing->last_byte + stream->idle_timeout);
  }
  return next;
}

// Deadlines change (a connection is established, a byte arrives) far more often than they expire. They are
// recomputed when the timer fires, not when they change.
void Client::Impl::Schedule(Active& entry) {
  deadlines.erase({entry.due, entry.outgoing->id});
  entry.due = NextDeadline(entry);
  // While the connection is being established, a stream's idle timeout does not run yet, but it may expire
  // before the connect timeout.
  const auto& stream = entry.outgoing->stream;
  if (stream && stream->idle_timeout > Duration::zero()) {
    entry.due = std::min(entry.due, io.Now() + stream->idle_timeout);
  }
  if (entry.due == MonoTime::max()) return;
  deadlines.emplace(entry.due, entry.outgoing->id);
  ArmTimer();
}

void Client::Impl::ArmTimer() {
  if (deadlines.empty() || deadlines.begin()->first >= timer_at) return;
  io.Cancel(timer);
  timer_at = deadlines.begin()->first;
  timer = io.After(timer_at - io.Now(), [this] { OnTimer(); });
}

void Client::Impl::OnTimer() {
  timer_at = MonoTime::max();
  const MonoTime now = io.Now();
  while (!deadlines.empty() && deadlines.begin()->first <= now) {
    const CallId id = deadlines.begin()->second;
    Active& entry = active.at(id);
    if (NextDeadline(entry) > now) {
      Schedule(entry);
    } else {
      Cut(id, {ErrorCode::kTimeout, "deadline exceeded"});
    }
  }
  ArmTimer();
}

void Client::Impl::KeepIdle(const ConnectionPtr& connection) {
  connection->idle_since = io.Now();
  idle.push_back(connection);
  if (idle.size() > options.max_idle) idle.erase(idle.begin());
  if (idle_timer == Loop::TimerId::kNone) {
    idle_timer = io.After(options.idle_timeout, [this] { DropOldIdle(); });
  }
}

void Client::Impl::DropOldIdle() {
  idle_timer = Loop::TimerId::kNone;
  const MonoTime oldest = io.Now() - options.idle_timeout;
  std::erase_if(idle, [&](const ConnectionPtr& c) { return c->idle_since <= oldest || !c->Usable(); });
  if (!idle.empty()) idle_timer = io.After(options.idle_timeout, [this] { DropOldIdle(); });
}

void Client::Impl::Shutdown() {
  closing = true;
  io.Cancel(timer);
  io.Cancel(idle_timer);
  waiting.clear();
  while (!active.empty()) {
    const Active entry = active.begin()->second;
    const Error why{ErrorCode::kCancelled, "the client is closing"};
    if (entry.connection) entry.connection->Abort(why);
    Finish(entry.outgoing, std::unexpected(why));
  }
  idle.clear();
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Client::~Client() {
  impl_->io.Sync([this] { impl_->Shutdown(); });
}

Expected<std::unique_ptr<Client>> Client::Make(IoThread& io, ClientOptions options) {
  auto impl = std::make_unique<Impl>(io, std::move(options));
  if (impl->options.origin.tls) {
    BERTH_TRY(impl->tls, MakeTlsContext(impl->options.tls));
  }
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Transport::CallId Client::Send(ClientRequest request, ClientDone done) {
  return impl_->Submit(std::move(request), std::nullopt, std::move(done));
}

Transport::CallId Client::Stream(ClientRequest request, StreamOptions options, ClientDone done) {
  return impl_->Submit(std::move(request), std::move(options), std::move(done));
}

void Client::Cancel(CallId call) {
  const auto cut = [impl = impl_.get(), call] { impl->Cut(call, {ErrorCode::kCancelled, "cancelled"}); };
  impl_->io.OnThread() ? cut() : impl_->io.Post(cut);
}

Expected<void> Client::SetTls(const TlsOptions& options) {
  if (!impl_->options.origin.tls) return {};
  BERTH_TRY(auto context, MakeTlsContext(options));
  impl_->io.Sync([&] {
    impl_->options.tls = options;
    impl_->tls = std::move(context);
    ++impl_->tls_generation;
    impl_->idle.clear();
  });
  return {};
}

}  // namespace berth::http

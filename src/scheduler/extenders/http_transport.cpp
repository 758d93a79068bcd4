#include "scheduler/extenders/http_transport.hpp"

#include <fmt/format.h>

#include <atomic>
#include <boost/url/parse.hpp>
#include <boost/url/url.hpp>
#include <map>
#include <utility>

#include "base/redact.hpp"
#include "http/base64.hpp"
#include "http/client.hpp"
#include "http/io_thread.hpp"
#include "http/proxy.hpp"

namespace berth::extenders {
namespace {

constexpr int kMaxRedirects = 10;  // as in Go's client
constexpr std::size_t kIdleConnections = 4;
constexpr std::size_t kRedirectOrigins = 8;  // idle clients kept for the targets of redirects

struct Target {
  http::Origin origin;
  std::string path;  // with query
  std::string authorization;
};

Expected<Target> TargetOf(const std::string& url) {
  const auto parsed = boost::urls::parse_uri_reference(url);
  if (!parsed) return Invalid(fmt::format("parse \"{}\": invalid URL", RedactUrl(url)));
  const auto& view = *parsed;
  const std::string scheme = view.scheme();
  if (scheme != "http" && scheme != "https")
    return Invalid(fmt::format("unsupported protocol scheme \"{}\"", scheme));
  if (view.encoded_host().empty()) return Invalid("http: no Host in request URL");
  Target target;
  BERTH_TRY(target.origin, http::ParseOrigin(url));
  target.origin.prefix.clear();
  target.path = view.encoded_path();
  if (target.path.empty()) target.path = "/";
  if (view.has_query()) target.path += "?" + std::string(view.encoded_query());
  if (view.has_userinfo()) target.authorization = "Basic " + http::EncodeBase64(view.userinfo());
  return target;
}

std::string Name(const http::Origin& origin) {
  return fmt::format("{}://{}", origin.tls ? "https" : "http", origin.HostPort());
}

// Go's system error texts begin in lower case.
std::string InLowerCase(std::string text) {
  const auto last = text.rfind(": ");
  const std::size_t at = last == text.npos ? 0 : last + 2;
  if (at + 1 < text.size() && text[at] >= 'A' && text[at] <= 'Z' && text[at + 1] >= 'a')
    text[at] = static_cast<char>(text[at] | 0x20);
  return text;
}

// Maps OpenSSL's certificate errors to those of crypto/tls; empty if the text is another error.
std::string GoTlsErrorText(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kTexts[] = {
      {"certificate has expired",
       "failed to verify certificate: x509: certificate has expired or is not yet valid"},
      {"not yet valid", "failed to verify certificate: x509: certificate has expired or is not yet valid"},
      {"unspecified certificate verification error",
       "failed to verify certificate: x509: certificate is not valid for the name that was wanted"},
      {"certificate verify failed",
       "failed to verify certificate: x509: certificate signed by unknown authority"},
      {"alert certificate required", "certificate required"},
      {"alert unknown ca", "unknown certificate authority"},
      {"alert bad certificate", "bad certificate"},
      {"alert certificate expired", "expired certificate"},
      {"alert handshake failure", "handshake failure"},
      {"alert protocol version", "protocol version not supported"},
  };
  for (const auto& [openssl, go] : kTexts) {
    if (text.find(openssl) != text.npos)
      return fmt::format("{}tls: {}", openssl.starts_with("alert") ? "remote error: " : "", go);
  }
  return {};
}

// Maps our client's errors to those of Go's client.
std::string GoErrorText(const Error& error) {
  const std::string& text = error.message;
  if (error.code == ErrorCode::kTimeout || text == "deadline exceeded")
    return "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
  if (std::string words = GoTlsErrorText(text); !words.empty()) return words;
  if (text.starts_with("lookup ")) {
    const std::string host = text.substr(0, text.find(": "));
    return fmt::format("dial tcp: {}: {}", host,
                       text.find("not found") != text.npos ? "no such host" : InLowerCase(text));
  }
  if (text.starts_with("reading the answer")) {
    const std::string error = text.substr(text.rfind(": ") + 2);
    return error == "end of stream" || error == "partial message" ? "EOF" : InLowerCase(error);
  }
  return InLowerCase(text);
}

std::string CutInGosWords(const Error& error) {
  if (error.code == ErrorCode::kTimeout)
    return "context deadline exceeded (Client.Timeout or context cancellation while reading body)";
  return "unexpected EOF";
}

class HttpTransport final : public Transport {
 public:
  HttpTransport(http::IoThread& io, Environment environment, http::TlsOptions tls, std::string origin,
                std::size_t max_reply_bytes)
      : shared_(std::make_shared<Shared>(io, std::move(environment), std::move(tls), std::move(origin),
                                         max_reply_bytes)) {}
  ~HttpTransport() override {
    shared_->io.Sync([this] { shared_->Close(); });
  }

  CallId Send(TransportRequest request_data, Done done) override {
    auto pending_request = std::make_shared<PendingRequest>();
    pending_request->url = request_data.url;
    pending_request->request_data = std::move(request_data);
    pending_request->body =
        std::make_shared<const std::string>(std::move(pending_request->request_data.body));
    pending_request->done = std::move(done);
    pending_request->began = shared_->io.Now();
    const CallId id = pending_request->id = ++last_id_;
    const auto start = [shared = shared_, pending_request] {
      shared->pending.emplace(pending_request->id, pending_request);
      Shared::Send(shared, pending_request);
    };
    shared_->io.OnThread() ? start() : shared_->io.Post(start);
    return id;
  }
  // Never runs at once: a callback that the client calls while it sends a request may cancel this request.
  void Cancel(CallId call) override {
    shared_->io.Post([shared = shared_, call] { shared->Cancel(call); });
  }

 private:
  // A request in progress, including its redirects.
  struct PendingRequest {
    CallId id = 0;
    TransportRequest request_data;
    std::shared_ptr<const std::string> body;
    Done done;
    MonoTime began{};
    std::string url;  // current URL
    std::string method = "POST";
    int redirects = 0;
    http::Client* client = nullptr;
    http::Transport::CallId call = 0;
  };
  using PendingRequestPtr = std::shared_ptr<PendingRequest>;

  // The client of one origin.
  struct Peer {
    std::unique_ptr<http::Client> client;
    std::size_t calls = 0;  // in progress
    std::uint64_t last_use = 0;
  };

  // Shared with callbacks, because responses may arrive while the transport is destroyed. Only the io thread
  // calls its functions, and no lock is held: a client calls callbacks, which may call the transport again.
  struct Shared {
    Shared(http::IoThread& io, Environment environment, http::TlsOptions tls, std::string origin,
           std::size_t max_reply_bytes)
        : io(io),
          environment(std::move(environment)),
          tls(std::move(tls)),
          origin(std::move(origin)),
          max_reply_bytes(max_reply_bytes) {}

    http::IoThread& io;
    const Environment environment;
    const http::TlsOptions tls;
    const std::string origin;  // of the configured URL, see Name
    const std::size_t max_reply_bytes;
    std::map<CallId, PendingRequestPtr> pending;
    std::map<std::string, Peer> peers;  // by origin
    std::uint64_t uses = 0;
    bool closed = false;

    void Close() {
      closed = true;
      // The callbacks of the requests that this ends use `peers`.
      const std::map<std::string, Peer> ending = std::exchange(peers, {});
    }

    void Cancel(CallId call) {
      const auto found = pending.find(call);
      if (found != pending.end() && !closed) found->second->client->Cancel(found->second->call);
    }

    Expected<Peer*> PeerOf(const http::Origin& target) {
      const std::string name = Name(target);
      if (const auto found = peers.find(name); found != peers.end()) return &found->second;
      BERTH_TRY(auto proxy, http::ProxyFromVariables(target, environment.variable));
      http::TlsOptions options = tls;
      if (name != origin) {
        // The certificate identifies this scheduler to the configured extender only.
        options.certificate_pem.clear();
        options.key_pem.clear();
        RemoveIdleRedirectPeers();
      }
      BERTH_TRY(auto client, http::Client::Make(io, {.origin = target,
                                                     .tls = std::move(options),
                                                     .proxy = std::move(proxy),
                                                     .max_idle = kIdleConnections}));
      return &peers.emplace(name, Peer{std::move(client)}).first->second;
    }

    // Leaves room for one more.
    void RemoveIdleRedirectPeers() {
      while (peers.size() > kRedirectOrigins) {
        auto oldest = peers.end();
        for (auto peer = peers.begin(); peer != peers.end(); ++peer) {
          const bool idle = peer->second.calls == 0 && peer->first != origin;
          if (idle && (oldest == peers.end() || peer->second.last_use < oldest->second.last_use))
            oldest = peer;
        }
        if (oldest == peers.end()) return;
        peers.erase(oldest);
      }
    }

    void Finish(const PendingRequestPtr& pending_request, Expected<Reply> reply) {
      pending.erase(pending_request->id);
      pending_request->done(std::move(reply));
    }
    void Fail(const PendingRequestPtr& pending_request, ErrorCode code, const std::string& what) {
      if (what.starts_with("parse \"")) return Finish(pending_request, berth::Fail(code, what));
      Finish(pending_request,
             berth::Fail(code, fmt::format("Post \"{}\": {}", RedactUrl(pending_request->url), what)));
    }

    static void Send(const std::shared_ptr<Shared>& self, const PendingRequestPtr& pending_request) {
      auto target = TargetOf(pending_request->url);
      if (!target) return self->Fail(pending_request, target.error().code, target.error().message);
      http::ClientRequest request;
      if (!self->Prepare(pending_request, *target, request)) return;
      if (self->closed) return self->Fail(pending_request, ErrorCode::kCancelled, "context canceled");
      auto peer = self->PeerOf(target->origin);
      if (!peer) return self->Fail(pending_request, peer.error().code, peer.error().message);
      ++(*peer)->calls;
      (*peer)->last_use = ++self->uses;
      pending_request->client = (*peer)->client.get();
      pending_request->call = pending_request->client->Send(
          std::move(request),
          [self, pending_request, name = Name(target->origin)](Expected<http::ClientResponse> response) {
            OnResponse(self, pending_request, std::move(response));
            // Last: a client must not be removed while it calls this function.
            if (const auto used = self->peers.find(name); used != self->peers.end()) --used->second.calls;
          });
    }

    // Returns false if the deadline has passed.
    bool Prepare(const PendingRequestPtr& pending_request, const Target& target,
                 http::ClientRequest& request) {
      const TransportRequest& request_data = pending_request->request_data;
      if (request_data.timeout > Duration::zero()) {
        request.timeout = request_data.timeout - (io.Now() - pending_request->began);
        if (request.timeout <= Duration::zero()) {
          Fail(pending_request, ErrorCode::kTimeout,
               "context deadline exceeded (Client.Timeout exceeded while awaiting headers)");
          return false;
        }
      } else {
        request.timeout = Duration::zero();
      }
      request.method = pending_request->method;
      request.target = target.path;
      request.body_limit_bytes = max_reply_bytes;
      request.keep_cut_body = true;
      request.refused = request_data.refused;
      request.headers.emplace_back("User-Agent", "kube-scheduler");
      if (!target.authorization.empty()) request.headers.emplace_back("Authorization", target.authorization);
      if (pending_request->method != "POST") return true;
      request.headers.emplace_back("Content-Type", "application/json");
      request.shared_body = pending_request->body;  // kept for redirects
      return true;
    }

    static void OnResponse(const std::shared_ptr<Shared>& self, const PendingRequestPtr& pending_request,
                           Expected<http::ClientResponse> response) {
      if (!response) return self->Fail(pending_request, response.error().code, GoErrorText(response.error()));
      const std::string* location = response->Find("Location");
      const int status = response->status;
      const bool as_get = status == 301 || status == 302 || status == 303;
      if ((as_get || status == 307 || status == 308) && location != nullptr && !location->empty())
        return Redirect(self, pending_request, *location, as_get);
      Reply reply{status, std::move(response->body)};
      if (response->cut_short) reply.cut_short = CutInGosWords(*response->cut_short);
      self->Finish(pending_request, std::move(reply));
    }

    static void Redirect(const std::shared_ptr<Shared>& self, const PendingRequestPtr& pending_request,
                         const std::string& location, bool as_get) {
      if (++pending_request->redirects >= kMaxRedirects)
        return self->Finish(pending_request, Invalid(fmt::format("Post \"{}\": stopped after 10 redirects",
                                                                 RedactUrl(location))));
      const auto base = boost::urls::parse_uri(pending_request->url);
      const auto wanted = boost::urls::parse_uri_reference(location);
      boost::urls::url next;
      if (!base || !wanted || !boost::urls::resolve(*base, *wanted, next)) {
        return self->Fail(pending_request, ErrorCode::kInvalid,
                          fmt::format("failed to parse Location header \"{}\"", RedactUrl(location)));
      }
      if (as_get) pending_request->method = "GET";
      pending_request->url = next.buffer();
      Send(self, pending_request);
    }
  };

  const std::shared_ptr<Shared> shared_;
  std::atomic<CallId> last_id_{0};
};

Expected<std::string> Material(const std::string& data, const std::string& file,
                               const Environment& environment) {
  if (data.empty()) return file.empty() ? Expected<std::string>("") : environment.read_file(file);
  auto decoded = http::DecodeBase64(data);
  if (!decoded) return Invalid("illegal base64 data");
  return *std::move(decoded);
}

}  // namespace

Expected<http::TlsOptions> TlsOf(const config::ExtenderConfig& config, const Environment& environment) {
  const config::ExtenderTls tls = config.tls.value_or(config::ExtenderTls{});
  http::TlsOptions options;
  const bool has_ca = !tls.ca_file.empty() || !tls.ca_data.empty();
  options.insecure = tls.insecure || (config.enable_https && !has_ca);
  if (has_ca && options.insecure)
    return Invalid("specifying a root certificates file with the insecure flag is not allowed");
  BERTH_TRY(options.ca_pem, Material(tls.ca_data, tls.ca_file, environment));
  BERTH_TRY(options.certificate_pem, Material(tls.cert_data, tls.cert_file, environment));
  BERTH_TRY(options.key_pem, Material(tls.key_data, tls.key_file, environment));
  options.server_name = tls.server_name;
  BERTH_RETURN_IF_ERROR(http::MakeTlsContext(options));
  return options;
}

TransportMaker HttpTransports(http::IoThread& io, Environment environment, std::size_t max_reply_bytes) {
  return [&io, environment = std::move(environment),
          max_reply_bytes](const config::ExtenderConfig& config) -> Expected<std::unique_ptr<Transport>> {
    BERTH_TRY(http::TlsOptions tls, TlsOf(config, environment));
    const auto target = TargetOf(config.url_prefix);  // an invalid URL fails when it is called
    return std::make_unique<HttpTransport>(io, environment, std::move(tls),
                                           target ? Name(target->origin) : "", max_reply_bytes);
  };
}

TransportMaker NoTransports(std::string error) {
  class None final : public Transport {
   public:
    explicit None(std::string error) : error_(std::move(error)) {}
    CallId Send(TransportRequest, Done done) override {
      done(Fail(ErrorCode::kUnavailable, error_));
      return 0;
    }
    void Cancel(CallId) override {}

   private:
    const std::string error_;
  };
  return [error = std::move(error)](const config::ExtenderConfig&) -> Expected<std::unique_ptr<Transport>> {
    return std::make_unique<None>(error);
  };
}

}  // namespace berth::extenders

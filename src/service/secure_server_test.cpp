#include "service/secure_server.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "base/clock.hpp"
#include "http/certificates.hpp"
#include "http/client.hpp"
#include "http/fake_certificate.hpp"
#include "http/fake_server.hpp"
#include "http/io_thread.hpp"
#include "observability/metrics/registry.hpp"
#include "service/endpoints.hpp"
#include "service/fake_environment.hpp"
#include "service/negotiation.hpp"

namespace berth::service {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

// A server on a port of the system's choosing, and clients with and without certificates.
class SecureServerTest : public ::testing::Test {
 protected:
  SecureServerTest() {
    environment_.Put("/ca", authority_.pem());
    const auto pair = *authority_.ForServer({"localhost", "127.0.0.1"});
    environment_.Put("/tls.crt", pair.certificate);
    environment_.Put("/tls.key", pair.key);
    serving_.bind_address = "127.0.0.1";
    serving_.port = FreePort();
    serving_.cert_file = "/tls.crt";
    serving_.key_file = "/tls.key";
    authentication_.client_ca_file = "/ca";
    endpoints_.AddHealth("healthz", {});
  }
  ~SecureServerTest() override { server_.reset(); }

  static std::int64_t FreePort() {
    return http::FakeServer([](auto&, int) {}).port();
  }
  Expected<> Start() {
    BERTH_TRY(server_, SecureServer::Start(serving_, authentication_, authorization_,
                                           {io_, environment_, clock_, metrics_, endpoints_}, limits_));
    return {};
  }
  http::TlsOptions As(const char* user, const std::vector<std::string>& groups = {}) const {
    const auto pair = *authority_.ForClient(user, groups);
    return {.ca_pem = authority_.pem(), .certificate_pem = pair.certificate, .key_pem = pair.key};
  }
  http::TlsOptions Anonymous() const { return {.ca_pem = authority_.pem()}; }
  Expected<http::ClientResponse> Get(const std::string& target, const http::TlsOptions& tls,
                                     http::HeaderList headers = {}) {
    const auto client = *http::Client::Make(
        io_, {.origin = {.tls = true, .host = "127.0.0.1", .port = server_->port()}, .tls = tls});
    std::promise<Expected<http::ClientResponse>> answer;
    client->Send({.target = target, .headers = std::move(headers)},
                 [&](Expected<http::ClientResponse> r) { answer.set_value(std::move(r)); });
    return answer.get_future().get();
  }

  const SystemClock clock_;
  http::IoThread io_{clock_};
  FakeEnvironment environment_;
  metrics::Registry metrics_;
  Endpoints endpoints_{metrics_};
  http::CertificateAuthority authority_ = *http::CertificateAuthority::Make("test");
  SecureServingOptions serving_;
  AuthenticationOptions authentication_;
  AuthorizationOptions authorization_;
  ServingLimits limits_;
  std::unique_ptr<SecureServer> server_;
};

TEST_F(SecureServerTest, AllowsAuthorizedRequests) {
  ASSERT_TRUE(Start());
  EXPECT_EQ(Get("/healthz", Anonymous())->body, "ok");
  EXPECT_EQ(Get("/metrics", As("root", {"system:masters"}))->status, 200);
  const auto refused = Get("/metrics", As("anna"));
  EXPECT_EQ(refused->status, 403);
  EXPECT_EQ(refused->body,
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
            R"("message":"forbidden: User \"anna\" cannot get path \"/metrics\"","reason":"Forbidden",)"
            R"("details":{},"code":403})"
            "\n");
  EXPECT_EQ(*refused->Find("content-type"), "application/json");
  EXPECT_EQ(*refused->Find("cache-control"), "no-cache, private");
  EXPECT_EQ(Get("/nothing", As("root", {"system:masters"}))->body, "404 page not found\n");
}

TEST_F(SecureServerTest, PublicPathsNeedNoCredentialsAndOthersStillDo) {
  endpoints_.AddPublic("/ui/", [](const http::Request&, const Target&, const Respond& respond) {
    respond(Plain(200, "page"));
  });
  authentication_.client_ca_file.clear();
  ASSERT_TRUE(Start());
  EXPECT_EQ(Get("/ui/", Anonymous())->body, "page");
  EXPECT_EQ(Get("/ui/", Anonymous(), {{"Authorization", "Bearer invalid"}})->status, 200)
      << "the credentials do not count";
  EXPECT_EQ(Get("/metrics", Anonymous())->status, 403);
}

TEST_F(SecureServerTest, InvalidCredentialsAreRejectedEvenOnAllowedPaths) {
  ASSERT_TRUE(Start());
  const auto unknown = http::CertificateAuthority::Make("untrusted")->ForClient("root", {"system:masters"});
  const auto refused =
      Get("/healthz",
          {.ca_pem = authority_.pem(), .certificate_pem = unknown->certificate, .key_pem = unknown->key});
  EXPECT_EQ(refused->status, 401);
  EXPECT_EQ(refused->body,
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized",)"
            R"("reason":"Unauthorized","code":401})"
            "\n");
  const auto text = metrics_.Expose();
  EXPECT_THAT(text, HasSubstr("authentication_attempts{result=\"error\"} 1\n"));
}

TEST_F(SecureServerTest, TokensAreIgnoredWithoutAnApiServer) {
  ASSERT_TRUE(Start());
  EXPECT_THAT(Get("/metrics", Anonymous(), {{"Authorization", "Bearer x"}})->body,
              HasSubstr("system:anonymous"));
}

TEST_F(SecureServerTest, AnUnavailableApiServerIsAnErrorWithoutWaiting) {
  const std::int64_t unused_port = FreePort();
  environment_.Put("/kubeconfig",
                   "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
                   "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:" +
                       std::to_string(unused_port) +
                       "'}}]\n"
                       "users: [{name: u, user: {}}]\n");
  authentication_.kubeconfig = authorization_.kubeconfig = "/kubeconfig";
  ASSERT_TRUE(Start()) << "its absence is tolerated";
  EXPECT_EQ(Get("/healthz", Anonymous(), {{"Authorization", "Bearer x"}})->status, 401);
  const auto refused = Get("/metrics", Anonymous());
  EXPECT_EQ(refused->status, 500);
  EXPECT_THAT(refused->body, StartsWith("Internal Server Error: \"/metrics\": "));
  server_.reset();
  authentication_.tolerate_lookup_failure = false;
  EXPECT_THAT(Start().error().message,
              StartsWith("unable to load configmap based request-header-client-ca-file: "));
}

TEST_F(SecureServerTest, ANewCertificateIsUsedWithinSeconds) {
  ASSERT_TRUE(Start());
  const auto other = *http::CertificateAuthority::Make("other");
  const auto pair = *other.ForServer({"127.0.0.1"});
  environment_.Put("/tls.crt", pair.certificate);  // first without its key
  environment_.Put("/tls.key", pair.key);
  const auto deadline = clock_.Now() + 20s;
  while (!Get("/healthz", {.ca_pem = other.pem()}) && clock_.Now() < deadline) std::this_thread::yield();
  EXPECT_TRUE(Get("/healthz", {.ca_pem = other.pem()}));
  EXPECT_FALSE(Get("/healthz", Anonymous())) << "the old certificate is no longer used";
}

TEST_F(SecureServerTest, WithoutFilesACertificateIsGenerated) {
  serving_.cert_file = serving_.key_file = "";
  ASSERT_TRUE(Start());
  EXPECT_EQ(Get("/healthz", {.insecure = true})->body, "ok");
}

TEST_F(SecureServerTest, AGeneratedCertificateIsStoredInTheDirectory) {
  namespace fs = std::filesystem;
  const fs::path directory = fs::temp_directory_path() / ("berth-certs-" + std::to_string(::getpid()));
  serving_.cert_file = serving_.key_file = "";
  serving_.cert_dir = directory;
  EXPECT_FALSE(Start()) << "this environment does not see what was written";
  ASSERT_TRUE(fs::exists(directory / "kube-scheduler.key"));
  EXPECT_EQ(fs::status(directory / "kube-scheduler.key").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  fs::remove(directory / "kube-scheduler.crt");
  EXPECT_THAT(Start().error().message, HasSubstr("certificate and key must be supplied as a pair"));
  fs::remove_all(directory);
}

TEST_F(SecureServerTest, PortZeroDisablesServing) {
  serving_.port = 0;
  ASSERT_TRUE(Start());
  EXPECT_EQ(server_, nullptr);
}

TEST_F(SecureServerTest, ErrorsHaveKubeSchedulersTexts) {
  const auto error = [&](auto&& change) {
    const auto serving = serving_;
    const auto authentication = authentication_;
    const auto authorization = authorization_;
    change();
    const auto checked = SecureServer::Check(serving_, authentication_, authorization_, environment_, clock_);
    const auto started = Start();
    EXPECT_TRUE(!checked || started || started.error().message.starts_with("failed to create listener"));
    if (!checked) {
      EXPECT_EQ(checked.error().message, started ? "" : started.error().message);
    }
    serving_ = serving, authentication_ = authentication, authorization_ = authorization;
    return started ? "started" : started.error().message;
  };
  EXPECT_EQ(error([&] { serving_.cipher_suites = {"TLS_NONE"}; }),
            "Cipher suite TLS_NONE not supported or doesn't exist");
  EXPECT_EQ(error([&] { serving_.min_version = "TLS1.2"; }), "unknown tls version \"TLS1.2\"");
  EXPECT_EQ(error([&] { serving_.curve_preferences = {29, 29}; }), "duplicate curve preference 29");
  EXPECT_EQ(error([&] { serving_.sni_cert_keys = {"a"}; }),
            "expected comma separated certificate and key file paths");
  EXPECT_EQ(error([&] { serving_.sni_cert_keys = {"/a,/b"}; }),
            "failed to load SNI cert and key: open /a: no such file or directory");
  EXPECT_EQ(error([&] { serving_.cert_file = "/none"; }), "open /none: no such file or directory");
  EXPECT_EQ(error([&] { authentication_.client_ca_file = "/none"; }),
            "unable to load client CA provider: open /none: no such file or directory");
  EXPECT_THAT(error([&] { authentication_.kubeconfig = "/none"; }),
              StartsWith("failed to get delegated authentication kubeconfig: "));
  EXPECT_THAT(error([&] { authorization_.kubeconfig = "/none"; }),
              StartsWith("failed to get delegated authorization kubeconfig: "));
  EXPECT_EQ(error([&] { authorization_.always_allow_paths = {"/a*b"}; }),
            "only trailing * allowed in \"a*b\"");
  const http::FakeServer taken([](auto&, int) {});
  EXPECT_EQ(
      error([&] { serving_.port = taken.port(); }),
      fmt::format("failed to create listener: failed to listen on 127.0.0.1:{0}: listen tcp 127.0.0.1:{0}: "
                  "bind: address already in use; is another scheduler on this host? --secure-port=0 or "
                  "another one lets this one start, too",
                  taken.port()));
}

TEST_F(SecureServerTest, ACurrentResponseIsCompletedAtShutdown) {
  std::promise<Respond> asked;
  endpoints_.Add("/slow", [&](const http::Request&, const Target&, const Respond& respond) {
    asked.set_value(respond);
  });
  ASSERT_TRUE(Start());
  auto answer = std::async(std::launch::async, [&] { return Get("/slow", As("root", {"system:masters"})); });
  Respond respond = asked.get_future().get();
  std::thread leaving([&] { server_.reset(); });
  http::Response response;
  response.body = ShareText("at last");
  respond(std::move(response));
  respond = nullptr;
  const auto late_response = answer.get();
  leaving.join();
  ASSERT_TRUE(late_response) << late_response.error().message;
  EXPECT_EQ(late_response->body, "at last");
}

TEST_F(SecureServerTest, OldProtocolsAreSupportedOnlyIfConfigured) {
  serving_.min_version = "VersionTLS13";
  ASSERT_TRUE(Start());
  EXPECT_EQ(Get("/healthz", Anonymous())->body, "ok");
}

}  // namespace
}  // namespace berth::service

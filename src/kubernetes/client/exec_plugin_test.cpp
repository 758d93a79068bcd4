#include "kubernetes/client/exec_plugin.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <mutex>

#include "http/io_thread.hpp"
#include "kubernetes/client/environment.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kV1 = "client.authentication.k8s.io/v1";

// Valid until the year 9999.
constexpr std::string_view kEndless = R"(-----BEGIN CERTIFICATE-----
MIIBcDCCARWgAwIBAgIUJF/sgogx9GHNd91flYnvZI50DocwCgYIKoZIzj0EAwIw
DDEKMAgGA1UEAwwBeDAgFw0yNjExMjkyMDE2MzZaGA85OTk5MDkxMjIwMTYzNlow
DDEKMAgGA1UEAwwBeDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBmRLLFagZB9
t7/Lp0Et9HLovHJbUp8uezxcT47TFu/07oFdnf5/XMDfmjNruZ8MLWCLGEKv51Zv
FRrdbpWe5GijUzBRMB0GA1UdDgQWBBRp/PgWjhRQZI7litvK9lns7q7onzAfBgNV
HSMEGDAWgBRp/PgWjhRQZI7litvK9lns7q7onzAPBgNVHRMBAf8EBTADAQH/MAoG
CCqGSM49BAMCA0kAMEYCIQCZPSsLw28Fs3IkKq67EDTZ3NJLlRW1BCxwApHyPFbM
ewIhAKbdEeViMVPt5TD9/VLofoT0BSyyEJv+YOngs//vuqj+
-----END CERTIFICATE-----
)";

std::string Credential(std::string_view status) {
  return R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":)" +
         std::string(status) + "}";
}

// --- formats of credentials ---
TEST(ExecInfo, ContainsTheClusterOnlyIfThePluginRequestsIt) {
  const ExecConfig config{.api_version = std::string(kV1)};
  EXPECT_EQ(
      ExecInfo(config, false, nullptr),
      R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":false}})");
  const KubeCluster cluster{.server = "https://h", .ca_data = "PEM", .exec_extension = R"({"a":1})"};
  EXPECT_EQ(
      ExecInfo(config, true, &cluster),
      R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"cluster":)"
      R"({"server":"https://h","certificate-authority-data":"UEVN","config":{"a":1}},"interactive":true}})");
}

TEST(ExecCredential, IsATokenOrACertificateAndKey) {
  const auto token =
      ParseExecCredential(Credential(R"({"token":"t","expirationTimestamp":"1970-01-01T00:01:00Z"})"), kV1);
  ASSERT_TRUE(token) << token.error().message;
  EXPECT_EQ(token->token, "t");
  EXPECT_EQ(token->expires, WallTime(60s));
  const auto pair =
      ParseExecCredential(Credential(R"({"clientCertificateData":"a\nb","clientKeyData":"k"})"), kV1);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->certificate_pem, "a\nb");
  EXPECT_FALSE(pair->expires);
}

TEST(ExecCredential, OfAnyOtherFormIsRejectedWithClientGosTexts) {
  const auto error = [](std::string_view output) { return ParseExecCredential(output, kV1).error().message; };
  EXPECT_EQ(error(Credential("{}")), "exec plugin didn't return a token or cert/key pair");
  EXPECT_EQ(error(Credential("null")), "exec plugin didn't return a status field");
  EXPECT_EQ(error(Credential(R"({"clientKeyData":"k"})")),
            "exec plugin returned only certificate or key, not both");
  EXPECT_EQ(
      error(
          R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"t"}})"),
      "exec plugin is configured to use API version client.authentication.k8s.io/v1, plugin returned version "
      "client.authentication.k8s.io/v1beta1");
  EXPECT_THAT(error("nonsense"), HasSubstr("decoding stdout: "));
  EXPECT_THAT(error("{"), HasSubstr("decoding stdout: "));
  EXPECT_THAT(error(""), HasSubstr("decoding stdout: "));
}

// --- when it is called ---
ChildResult Printed(std::string output) { return {.output = std::move(output)}; }

// Programs with scripted output.
class FakePrograms final : public Environment {
 public:
  Expected<std::string> ReadFile(const std::string&) const override {
    return Fail(ErrorCode::kNotFound, "no files");
  }
  std::optional<std::string> Variable(const std::string&) const override { return std::nullopt; }
  Expected<ChildResult> Run(const ChildOptions& program, const ChildLimits&, std::stop_token) const override {
    std::scoped_lock lock(mutex);
    ran.push_back(program);
    return answer;
  }
  bool StdinIsTerminal() const override { return terminal; }

  mutable std::mutex mutex;
  mutable std::vector<ChildOptions> ran;
  Expected<ChildResult> answer = Printed(Credential(R"({"token":"one"})"));
  bool terminal = false;
};

class ExecPluginTest : public testing::Test {
 protected:
  void Make(ExecConfig config = {.command = "plugin",
                                 .args = {"-x"},
                                 .env = {{"A", "1"}},
                                 .api_version = std::string(kV1),
                                 .interactive_mode = "IfAvailable"}) {
    plugin_ = std::make_unique<ExecPlugin>(
        io_, programs_, clock_, registry_, std::move(config), KubeCluster{},
        [this](const std::string& certificate, const std::string&) -> Expected<> {
          certificates_.push_back(certificate);
          return {};
        });
  }
  // The credential or error that a request gets.
  std::string RequestCredentials() {
    std::promise<std::string> result;
    io_.Post([&] {
      plugin_->WhenReady([&](Expected<> ready) {
        result.set_value(ready ? plugin_->Authorization() : ready.error().message);
      });
    });
    return result.get_future().get();
  }
  void Complete(Expected<ChildResult> answer) {
    std::scoped_lock lock(programs_.mutex);
    programs_.answer = std::move(answer);
  }
  std::size_t Runs() {
    std::scoped_lock lock(programs_.mutex);
    return programs_.ran.size();
  }

  FakePrograms programs_;
  ManualClock clock_;
  metrics::Registry registry_;
  http::IoThread io_{clock_};
  std::vector<std::string> certificates_;
  std::unique_ptr<ExecPlugin> plugin_;
};

TEST_F(ExecPluginTest, RunsOnceForConcurrentRequests) {
  Make();
  EXPECT_EQ(RequestCredentials(), "Bearer one");
  EXPECT_EQ(RequestCredentials(), "Bearer one");
  ASSERT_EQ(Runs(), 1U);
  const ChildOptions& program = programs_.ran[0];
  EXPECT_THAT(program.arguments, ElementsAre("plugin", "-x"));
  EXPECT_EQ(program.environment[0], std::pair(std::string("A"), std::string("1")));
  EXPECT_EQ(program.environment[1].first, "KUBERNETES_EXEC_INFO");
  EXPECT_FALSE(program.interactive);
  EXPECT_THAT(registry_.Expose(),
              HasSubstr("rest_client_exec_plugin_call_total{call_status=\"no_error\",code=\"0\"} 1"));
}

TEST_F(ExecPluginTest, RunsAgainAfterItsCredentialExpired) {
  Complete(Printed(Credential(R"({"token":"short","expirationTimestamp":"2100-01-01T00:00:00Z"})")));
  Make();
  EXPECT_EQ(RequestCredentials(), "Bearer short");
  Complete(Printed(Credential(R"({"token":"past","expirationTimestamp":"1960-01-01T00:00:00Z"})")));
  io_.Sync([&] { plugin_->OnUnauthorized(plugin_->Serial()); });
  EXPECT_EQ(RequestCredentials(), "Bearer past");
  EXPECT_EQ(RequestCredentials(), "Bearer past");
  EXPECT_EQ(Runs(), 3U) << "what has expired is not kept";
}

TEST_F(ExecPluginTest, RunsAgainAfterTheServerRejectedTheCredential) {
  Make();
  RequestCredentials();
  io_.Sync([&] { plugin_->OnUnauthorized(plugin_->Serial()); });
  Complete(Printed(Credential(R"({"token":"two"})")));
  EXPECT_EQ(RequestCredentials(), "Bearer two");
  EXPECT_EQ(Runs(), 2U);
}

TEST_F(ExecPluginTest, DoesNotRunAgainForAnAlreadyReplacedCredential) {
  Make();
  RequestCredentials();
  std::uint64_t old = 0;
  io_.Sync([&] {
    old = plugin_->Serial();
    plugin_->OnUnauthorized(old);
  });
  RequestCredentials();
  io_.Sync([&] { plugin_->OnUnauthorized(old); });
  RequestCredentials();
  EXPECT_EQ(Runs(), 2U);
}

TEST_F(ExecPluginTest, DeliversANewCertificate) {
  Complete(Printed(Credential(R"({"clientCertificateData":"c1","clientKeyData":"k1"})")));
  Make();
  EXPECT_EQ(RequestCredentials(), "") << "no header, a certificate";
  io_.Sync([&] { plugin_->OnUnauthorized(plugin_->Serial()); });
  RequestCredentials();
  io_.Sync([&] { plugin_->OnUnauthorized(plugin_->Serial()); });
  Complete(Printed(Credential(R"({"clientCertificateData":"c2","clientKeyData":"k2"})")));
  RequestCredentials();
  EXPECT_THAT(certificates_, ElementsAre("c1", "c2"));
}

TEST_F(ExecPluginTest, ACertificateOfTheYear9999IsValidForLong) {
  Complete(Printed(Credential(fmt::format(R"({{"clientCertificateData":{},"clientKeyData":"k"}})",
                                          boost::json::serialize(boost::json::string(kEndless))))));
  Make();
  RequestCredentials();
  EXPECT_THAT(registry_.Expose(), HasSubstr("\nrest_client_exec_plugin_ttl_seconds 7"));
}

TEST_F(ExecPluginTest, FailureIsReportedAndRetried) {
  Complete(ChildResult{.status = {.code = 3}});
  Make();
  EXPECT_EQ(RequestCredentials(), "getting credentials: exec: executable plugin failed with exit code 3");
  Complete(Printed(Credential(R"({"token":"back"})")));
  EXPECT_EQ(RequestCredentials(), "Bearer back");
  EXPECT_THAT(registry_.Expose(), HasSubstr("call_status=\"plugin_execution_error\",code=\"3\"} 1"));
}

TEST_F(ExecPluginTest, MissingProgramIsReportedWithItsHintOnce) {
  Complete(Fail(ErrorCode::kNotFound, "no such file"));
  Make({.command = "gone",
        .api_version = std::string(kV1),
        .install_hint = "apt install gone",
        .interactive_mode = "Never"});
  EXPECT_THAT(RequestCredentials(),
              AllOf(HasSubstr("exec: executable gone not found"), HasSubstr("apt install gone")));
  EXPECT_THAT(RequestCredentials(),
              AllOf(HasSubstr("exec: executable gone not found"), Not(HasSubstr("apt install"))));
}

TEST_F(ExecPluginTest, InteractivePluginDoesNotRunWithoutATerminal) {
  Make({.command = "p", .api_version = std::string(kV1), .interactive_mode = "Always"});
  EXPECT_THAT(RequestCredentials(), HasSubstr("standard input is not a terminal"));
  EXPECT_EQ(Runs(), 0U);
}

TEST_F(ExecPluginTest, ReportsWhyAProgramWasKilled) {
  Make();
  Complete(ChildResult{.end = ChildResult::End::kTimeout});
  EXPECT_EQ(RequestCredentials(), "getting credentials: exec: plugin took longer than 60 seconds");
  Complete(ChildResult{.end = ChildResult::End::kOutputLimit});
  EXPECT_EQ(RequestCredentials(), "getting credentials: exec: plugin printed more than 1 MiB");
  Complete(ChildResult{.end = ChildResult::End::kStopped});
  EXPECT_EQ(RequestCredentials(), "getting credentials: exec: cancelled");
}

}  // namespace
}  // namespace berth::client

// Authorization: the order of the authorizers, encoding of reviews, and sources of trusted authorities.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "http/fake_loop.hpp"
#include "kubernetes/client/fake_api.hpp"
#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"
#include "service/auth/authorizer.hpp"
#include "service/auth/config_map_watch.hpp"
#include "service/auth/reviews.hpp"
#include "service/auth/trust.hpp"
#include "service/fake_environment.hpp"
#include "service/fake_peers.hpp"

namespace berth::service {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

TEST(AccessReview, IsEncodedAndDecoded) {
  EXPECT_EQ(AccessReviewBody({"u<", "1", {"g"}, {{"k", {"v"}}}}, {"get", "/a"}),
            R"({"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},)"
            R"("spec":{"nonResourceAttributes":{"path":"/a","verb":"get"},"user":"u\u003c","groups":["g"],)"
            R"("extra":{"k":["v"]},"uid":"1"},"status":{"allowed":false}})");
  EXPECT_THAT(AccessReviewBody({"u", "", {}, {}}, {"get", "/a", Attributes::Resource{"pods", "shop", "web"}}),
              HasSubstr(R"("spec":{"resourceAttributes":{"namespace":"shop","verb":"get","version":"v1",)"
                        R"("resource":"pods","name":"web"},"user":"u"})"));
  const auto verdict = ParseAccessReview(R"({"status":{"allowed":true,"denied":true,"reason":"r"}})");
  EXPECT_TRUE(verdict->allowed && verdict->denied);
  EXPECT_EQ(verdict->reason, "r");
  for (const char* wrong :
       {"", "1", R"({"kind":"TokenReview"})", R"({"status":[]})", R"({"status":{"allowed":1}})"}) {
    EXPECT_FALSE(ParseAccessReview(wrong)) << wrong;
  }
}

TEST(AlwaysAllowed, MatchesPathsAndPrefixes) {
  const auto allowed = *AlwaysAllowed::Parse({"/healthz", "livez", "/open/*", "/"});
  for (const char* path : {"/healthz", "/livez", "/open/", "/open/x/y", "/"})
    EXPECT_TRUE(allowed.Allows(path)) << path;
  for (const char* path : {"/healthz/ping", "/open", "/metrics", "//healthz"})
    EXPECT_FALSE(allowed.Allows(path)) << path;
  EXPECT_TRUE(AlwaysAllowed::Parse({"*"})->Allows("/anything"));
  EXPECT_EQ(AlwaysAllowed::Parse({"/a*b"}).error().message, "only trailing * allowed in \"a*b\"");
}

class Access : public testing::Test {
 protected:
  // "allow", "deny: reason", "no opinion: reason", with " (error)" behind.
  std::string Authorize(const User& user, const std::string& path,
                        std::optional<client::Reply> answer = std::nullopt) {
    std::string result = "nothing";
    authorizer_.Authorize(user, {"get", path}, [&](const Decision& decision) {
      result = decision.kind == Decision::Kind::kAllow  ? "allow"
               : decision.kind == Decision::Kind::kDeny ? "deny: " + decision.reason
                                                        : "no opinion: " + decision.reason;
      if (!decision.error.empty()) result += " (" + decision.error + ")";
    });
    if (answer) api_.Answer(std::move(*answer));
    return result;
  }

  http::FakeLoop loop_;
  client::FakeApi api_;
  Random random_{1};
  metrics::Registry metrics_;
  FakeEnvironment environment_;
  Authorizer authorizer_{loop_, &api_, random_, metrics_, *AlwaysAllowed::Parse({"/healthz"}), 10s, 5s};
  const User anna_{"anna", "", {"system:authenticated"}, {}};
};

TEST_F(Access, MastersAndAllowedPathsNeedNoReview) {
  EXPECT_EQ(Authorize({"root", "", {"a", "system:masters"}, {}}, "/metrics"), "allow");
  EXPECT_EQ(Authorize(anna_, "/healthz"), "allow");
  EXPECT_TRUE(api_.sent.empty());
}

TEST_F(Access, AnAllowedPathDoesNotAllowAccessToAnObject) {
  std::string result;
  const Attributes pod{"get", "/healthz", Attributes::Resource{"pods", "shop", "web"}};
  authorizer_.Authorize(anna_, pod, [&](const Decision& decision) {
    result = decision.kind == Decision::Kind::kAllow ? "allow" : "other";
  });
  EXPECT_EQ(api_.sent.size(), 1u);
  api_.Answer(R"({"status":{"allowed":false}})");
  EXPECT_EQ(result, "other");
}

TEST_F(Access, TheApiServersDecisionIsCached) {
  EXPECT_EQ(Authorize(anna_, "/a", R"({"status":{"allowed":true}})"), "allow");
  EXPECT_EQ(Authorize(anna_, "/b", R"({"status":{"allowed":false,"reason":"no"}})"),
            "no opinion: kubernetes.io/webhook: no");
  EXPECT_EQ(Authorize(anna_, "/c", R"({"status":{"denied":true,"reason":"never"}})"), "deny: never");
  EXPECT_THAT(Authorize(anna_, "/d", R"({"status":{"denied":true,"allowed":true}})"),
              HasSubstr("both allow and deny"));
  EXPECT_EQ(api_.sent.size(), 4u);
  loop_.Advance(4s);
  EXPECT_EQ(Authorize(anna_, "/a"), "allow");
  EXPECT_EQ(Authorize(anna_, "/b"), "no opinion: kubernetes.io/webhook: no");
  EXPECT_EQ(api_.sent.size(), 4u);
  loop_.Advance(1s);
  EXPECT_EQ(Authorize(anna_, "/a"), "allow") << "allowed results are cached longer";
  EXPECT_EQ(Authorize(anna_, "/b", R"({"status":{"allowed":true}})"), "allow");
}

TEST_F(Access, AnotherUserNeedsAnotherReview) {
  EXPECT_EQ(Authorize(anna_, "/a", R"({"status":{"allowed":true}})"), "allow");
  EXPECT_EQ(Authorize({"bert", "", {}, {}}, "/a", R"({"status":{}})"), "no opinion: ");
}

TEST_F(Access, AnUnreachableServerIsAnErrorAndNotCached) {
  EXPECT_EQ(Authorize(anna_, "/a", client::NotReached()), "no opinion:  (connection refused)");
  EXPECT_EQ(Authorize(anna_, "/a", "rubbish").substr(0, 14), "no opinion:  (");
  EXPECT_EQ(Authorize(anna_, "/a", R"({"status":{"allowed":true}})"), "allow");
}

TEST_F(Access, AFailingServerIsTriedFiveTimes) {
  std::string result;
  authorizer_.Authorize(anna_, {"get", "/a"}, [&](const Decision& decision) { result = decision.error; });
  for (int i = 0; i < 4; ++i) {
    api_.Answer(client::Refused(429, "TooManyRequests"));
    EXPECT_EQ(result, "");
    loop_.Advance(3s);
  }
  api_.Answer(client::Refused(429, "TooManyRequests"));
  EXPECT_EQ(result, "TooManyRequests");
  const std::vector<Duration> pauses(loop_.delays().begin(), loop_.delays().end());
  ASSERT_EQ(pauses.size(), 4u);
  EXPECT_GE(pauses[0], 500ms);
  EXPECT_LE(pauses[0], 600ms);
  EXPECT_GE(pauses[3], 1687ms);
}

TEST_F(Access, WithoutAServerOnlyMastersAndAllowedPathsAreAuthorized) {
  Authorizer alone(loop_, nullptr, random_, metrics_, *AlwaysAllowed::Parse({}), 10s, 10s);
  Decision decision{Decision::Kind::kAllow};
  alone.Authorize(anna_, {"get", "/metrics"}, [&](const Decision& result) { decision = result; });
  EXPECT_EQ(decision.kind, Decision::Kind::kNoOpinion);
}

std::string ConfigMapEvent(const std::string& type, const std::string& version, const std::string& value) {
  return R"({"type":")" + type + R"(","object":{"metadata":{"resourceVersion":")" + version +
         R"("},"data":{"k":")" + value + R"("}}})";
}

TEST_F(Access, AConfigMapIsListedAndWatched) {
  std::vector<std::string> seen;
  ConfigMapWatch watch(loop_, api_, random_, "kube-system", "x",
                       [&](const ConfigMapData& data) { seen.push_back(data.at("k")); });
  watch.Start();
  EXPECT_THAT(api_.sent,
              ElementsAre("GET /api/v1/namespaces/kube-system/configmaps?fieldSelector=metadata.name%3Dx"));
  api_.Answer(R"({"metadata":{"resourceVersion":"7"},"items":[{"data":{"k":"a"}}]})");
  EXPECT_THAT(api_.sent.back(), HasSubstr("&resourceVersion=7&"));
  api_.Line(ConfigMapEvent("MODIFIED", "8", "b"));
  api_.Line(ConfigMapEvent("BOOKMARK", "9", "-"));
  api_.Line(ConfigMapEvent("DELETED", "10", "-"));
  EXPECT_THAT(seen, ElementsAre("a", "b")) << "the last data stay valid";
  loop_.Advance(2s);
  api_.End();
  EXPECT_THAT(api_.sent.back(), HasSubstr("&resourceVersion=10&"))
      << "a watch that ends properly is continued";
  api_.Line(R"({"type":"ERROR","object":{"code":410}})");
  EXPECT_EQ(api_.sent.size(), 3u);
  loop_.Advance(2s);
  EXPECT_THAT(api_.sent.back(), HasSubstr("GET /api/v1/namespaces/kube-system/configmaps"));
}

TEST_F(Access, AConfigMapWhoseWatchEndsAtOnceIsListedAfterAPause) {
  ConfigMapWatch watch(loop_, api_, random_, "n", "x", [](const ConfigMapData&) {});
  watch.Start();
  api_.Answer(R"({"metadata":{"resourceVersion":"7"}})");
  loop_.Advance(500ms);
  api_.End();
  EXPECT_TRUE(api_.open.empty());
  loop_.Advance(2s);
  EXPECT_EQ(api_.sent.back(), api_.sent.front());
}

TEST_F(Access, AConfigMapWhoseWatchWasSilentIsListedAgain) {
  ConfigMapWatch watch(loop_, api_, random_, "n", "x", [](const ConfigMapData&) {});
  watch.Start();
  api_.Answer(R"({"metadata":{"resourceVersion":"100"}})");
  api_.Line(ConfigMapEvent("BOOKMARK", "101", "-"));
  loop_.Advance(480s);
  api_.End();
  EXPECT_THAT(api_.sent.back(), HasSubstr("&resourceVersion=101&")) << "a bookmark is an event";
  api_.Open();
  loop_.Advance(480s);
  api_.End();
  EXPECT_EQ(api_.sent.back(), api_.sent.front());
  api_.Answer(R"({"metadata":{"resourceVersion":"90"}})");
  EXPECT_THAT(api_.sent.back(), HasSubstr("&resourceVersion=90&"));
}

TEST_F(Access, AFailedReadOfTheConfigMapIsRetried) {
  ConfigMapWatch watch(loop_, api_, random_, "n", "x", [](const ConfigMapData&) {});
  watch.Start();
  for (const client::Reply& reply :
       {client::Refused(403, "Forbidden"), client::Reply("rubbish"), client::NotReached()}) {
    api_.Answer(reply);
    EXPECT_TRUE(api_.open.empty());
    loop_.Advance(60s);
    EXPECT_EQ(api_.open.size(), 1u);
  }
}

TEST_F(Access, AuthoritiesComeFromFilesThatMayChange) {
  const auto one = *http::CertificateAuthority::Make("one"), two = *http::CertificateAuthority::Make("two");
  AuthenticationOptions options;
  options.client_ca_file = "/ca";
  int changes = 0;
  Trust trust(options, {loop_, environment_, random_}, [&] { ++changes; });
  EXPECT_TRUE(trust.RequestsClientCertificates());
  EXPECT_EQ(trust.ReadFiles().error().message,
            "unable to load client CA provider: open /ca: no such file or directory");
  environment_.Put("/ca", "");
  EXPECT_EQ(trust.ReadFiles().error().message,
            "unable to load client CA provider: missing content for CA bundle \"client-ca-bundle::/ca\"");
  environment_.Put("/ca", one.pem());
  EXPECT_TRUE(trust.ReadFiles());
  trust.Start();
  EXPECT_EQ(trust.clients()->pem(), one.pem());
  environment_.Put("/ca", "half written");
  loop_.Advance(2s);
  EXPECT_EQ(trust.clients()->pem(), one.pem()) << "rubbish changes nothing";
  environment_.Put("/ca", two.pem());
  loop_.Advance(2s);
  EXPECT_EQ(trust.clients()->pem(), two.pem());
  EXPECT_EQ(changes, 1);
}

TEST_F(Access, AuthoritiesWithoutAFileComeFromTheCluster) {
  const auto clients = *http::CertificateAuthority::Make("c"),
             proxies = *http::CertificateAuthority::Make("p");
  Trust trust({}, {loop_, environment_, random_, &api_}, [] {});
  EXPECT_TRUE(trust.NeedsCluster());
  EXPECT_EQ(trust.clients(), nullptr);
  ConfigMapData data{{"client-ca-file", clients.pem()}};
  EXPECT_FALSE(trust.Take(data)) << "nothing of a front proxy is there";
  EXPECT_EQ(trust.clients()->pem(), clients.pem());
  data["requestheader-client-ca-file"] = proxies.pem();
  data["requestheader-allowed-names"] = R"(["front"])";
  data["requestheader-username-headers"] = R"(["X-Remote-User"])";
  EXPECT_TRUE(trust.Take(data));
  EXPECT_THAT(trust.front_proxy().allowed_names, ElementsAre("front"));
  data["requestheader-allowed-names"] = "front";
  EXPECT_THAT(trust.Take(data).error().message, HasSubstr("requestheader-allowed-names"));
  EXPECT_THAT(trust.front_proxy().allowed_names, ElementsAre("front")) << "what is wrong changes nothing";
  EXPECT_EQ(trust.AuthoritiesPem(), clients.pem() + proxies.pem());
}

TEST_F(Access, WithSkipLookupTheClusterIsNotRead) {
  AuthenticationOptions options;
  options.skip_lookup = true;
  const Trust trust(options, {loop_, environment_, random_, &api_}, [] {});
  EXPECT_FALSE(trust.NeedsCluster());
  EXPECT_FALSE(trust.RequestsClientCertificates());
}

}  // namespace
}  // namespace berth::service

// Authentication: certificates, front proxies, tokens, and their order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "http/fake_loop.hpp"
#include "kubernetes/client/fake_api.hpp"
#include "service/auth/authenticator.hpp"
#include "service/auth/client_certificate.hpp"
#include "service/auth/front_proxy.hpp"
#include "service/auth/reviews.hpp"
#include "service/fake_environment.hpp"
#include "service/fake_peers.hpp"

namespace berth::service {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;

constexpr const char* kAnna = R"({"status":{"authenticated":true,"user":{"username":"anna"}}})";

TEST(BearerToken, IsParsedLikeApiserver) {
  EXPECT_EQ(BearerToken("Bearer abc"), "abc");
  EXPECT_EQ(BearerToken("  bEARER abc  "), "abc");
  EXPECT_EQ(BearerToken("Bearer abc def"), "abc");
  for (const char* none : {"", "Bearer", "Bearer ", "Bearer  abc", "Basic abc", "Bearerabc", "\tx"}) {
    EXPECT_EQ(BearerToken(none), "") << none;
  }
}

TEST(TokenReview, IsEncodedAndDecoded) {
  EXPECT_EQ(TokenReviewBody("a\"\xFF"),
            R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","metadata":{},)"
            R"("spec":{"token":"a\"\ufffd"},"status":{"user":{}}})");
  const auto verdict = ParseTokenReview(
      R"({"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"u","uid":"1",)"
      R"("groups":["a","b"],"extra":{"k":["v","w"]}}}})");
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->authenticated);
  EXPECT_EQ(verdict->user, (User{"u", "1", {"a", "b"}, {{"k", {"v", "w"}}}}));
  EXPECT_FALSE(ParseTokenReview("{}")->authenticated) << "an absent field is false";
  for (const char* wrong :
       {"", "[]", R"({"kind":"Pod"})", R"({"status":1})", R"({"status":{"authenticated":"yes"}})",
        R"({"status":{"user":{"groups":[1]}}})", R"({"status":{"user":{"extra":{"k":"v"}}}})"}) {
    EXPECT_FALSE(ParseTokenReview(wrong)) << wrong;
  }
}

class Identity : public testing::Test {
 protected:
  static http::CertificateAuthority Authority(const char* name) {
    return *http::CertificateAuthority::Make(name);
  }

  http::CertificateAuthority clients_ = Authority("clients"), proxies_ = Authority("proxies"),
                             other_authority_ = Authority("untrusted");
  const SystemClock clock_;
  http::FakeLoop loop_;
  client::FakeApi api_;
  Random random_{1};
  metrics::Registry metrics_;
  FakeEnvironment environment_;
};

TEST_F(Identity, ACertificateContainsItsUser) {
  const auto pool = *http::AuthorityPool::Parse(clients_.pem());
  CertificateVerifier verifier;
  const auto user = UserOfCertificate(Peer(clients_, "anna", {"a", "b"}), pool, verifier, clock_.WallNow());
  ASSERT_TRUE(user && *user);
  EXPECT_EQ((*user)->name, "anna");
  EXPECT_THAT((*user)->groups, ElementsAre("a", "b"));
  EXPECT_THAT((*user)->extra.at("authentication.kubernetes.io/credential-id").front(),
              StartsWith("X509SHA256="));
}

TEST_F(Identity, ACertificateMustBeTrustedValidAndForClients) {
  const auto pool = *http::AuthorityPool::Parse(clients_.pem());
  const auto ask = [&](const http::PeerCertificate& peer, Duration later) {
    CertificateVerifier verifier;
    return UserOfCertificate(std::make_shared<const http::PeerCertificate>(peer), pool, verifier,
                             clock_.WallNow() + later);
  };
  const auto peer = Peer(clients_, "anna");
  EXPECT_THAT(ask(*Peer(other_authority_, "anna"), 0s).error().message,
              HasSubstr("failed: x509: certificate signed by unknown authority"));
  for (const Duration later : {Duration(24h * 365 * 20), Duration(-48h)}) {
    EXPECT_THAT(ask(*peer, later).error().message,
                HasSubstr("x509: certificate has expired or is not yet valid"));
  }
  http::PeerCertificate server = *peer;
  server.chain = {DerOf(clients_.ForServer({"x"})->certificate)};
  EXPECT_THAT(ask(server, 0s).error().message,
              HasSubstr("x509: certificate specifies an incompatible key usage"));
  http::PeerCertificate broken = *peer;
  broken.chain = {"rubbish"};
  EXPECT_THAT(ask(broken, 0s).error().message, HasSubstr("malformed"));
  http::PeerCertificate longest = *peer;
  longest.chain.resize(http::AuthorityPool::kChainMax + 1, peer->chain.front());
  EXPECT_THAT(ask(longest, 0s).error().message, HasSubstr("x509: 11 certificates, at most 10 are accepted"));
  http::PeerCertificate several = *peer;
  several.user_ids = {"1", "2"};
  EXPECT_EQ(ask(several, 0s).error().message, "expected 1 UID, but found multiple: [1 2]");
}

TEST_F(Identity, ACertificateIsVerifiedOncePerConnectionAndMinute) {
  const auto pool = *http::AuthorityPool::Parse(clients_.pem());
  const auto other_pool = *http::AuthorityPool::Parse(other_authority_.pem());
  const auto peer = Peer(clients_, "anna");
  const WallTime now = clock_.WallNow();
  CertificateVerifier verifier;
  for (int request = 0; request < 600; ++request) {
    EXPECT_TRUE(verifier.Verify(peer, pool, now + 59s));
    EXPECT_FALSE(verifier.Verify(peer, other_pool, now + 59s));
  }
  EXPECT_EQ(verifier.verifications(), 2U);
  EXPECT_TRUE(verifier.Verify(Peer(clients_, "anna"), pool, now + 59s)) << "another connection";
  EXPECT_EQ(verifier.verifications(), 3U);
  EXPECT_FALSE(verifier.Verify(peer, pool, now + 24h * 365 * 20)) << "expired since";
  EXPECT_FALSE(verifier.Verify(peer, pool, now + 24h * 365 * 20 - 2min)) << "the clock was set back";
  EXPECT_EQ(verifier.verifications(), 5U);
}

TEST_F(Identity, AuthoritiesAreParsedFromABundle) {
  EXPECT_EQ(http::AuthorityPool::Parse("").error().message,
            "data does not contain any valid RSA or ECDSA certificates");
  EXPECT_FALSE(http::AuthorityPool::Parse("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"));
  const auto both = http::AuthorityPool::Parse(clients_.pem() + other_authority_.pem());
  ASSERT_TRUE(both);
  for (const auto* authority : {&clients_, &other_authority_}) {
    EXPECT_TRUE((*both)->Verify(*Peer(*authority, "x"), clock_.WallNow()));
  }
}

TEST_F(Identity, AFrontProxySetsTheUser) {
  FrontProxy proxy;
  proxy.authorities = *http::AuthorityPool::Parse(proxies_.pem());
  proxy.allowed_names = {"front-proxy"};
  proxy.username_headers = {"x-user", "x-remote-user"};
  proxy.group_headers = {"X-Remote-Group"};
  proxy.extra_header_prefixes = {"X-Remote-Extra-"};
  http::Request request;
  request.headers = {{"X-Remote-User", "anna"},
                     {"x-remote-group", "a"},
                     {"X-Remote-Group", ""},
                     {"X-REMOTE-GROUP", "b"},
                     {"X-Remote-Extra-Acme.com%2fP", "1"},
                     {"x-remote-extra-acme.com%2Fp", "2"},
                     {"X-Remote-Extra-50%", "3"}};
  CertificateVerifier verifier;
  const auto ask = [&] { return UserOfFrontProxy(request, proxy, verifier, clock_.WallNow()); };
  EXPECT_FALSE(*ask()) << "no result without a certificate";
  request.peer = Peer(proxies_, "front-proxy");
  EXPECT_EQ(**ask(), (User{"anna", "", {"a", "b"}, {{"acme.com/p", {"1", "2"}}, {"50%", {"3"}}}}));
  request.peer = Peer(proxies_, "unlisted");
  EXPECT_EQ(ask().error().message, "x509: subject with cn=unlisted is not in the allowed list");
  request.peer = Peer(clients_, "front-proxy");
  EXPECT_FALSE(ask());
  request.peer = Peer(proxies_, "front-proxy");
  request.headers = {{"X-Remote-Group", "system:masters"}};
  EXPECT_FALSE(*ask()) << "without a name there is no user";
}

class Tokens : public Identity {
 protected:
  void Authenticate(const char* token) {
    tokens_.Review(token, [this](Expected<User> user) {
      said_.push_back(user ? user->name : "error: " + user.error().message);
    });
  }
  void Answer(client::Reply reply) { api_.Answer(std::move(reply)); }

  TokenReviewer tokens_{loop_, api_, random_, metrics_, 10s};
  std::vector<std::string> said_;
};

TEST_F(Tokens, AreReviewedOnceForConcurrentRequestsAndCached) {
  Authenticate("t");
  Authenticate("t");
  EXPECT_THAT(api_.sent, ElementsAre("POST /apis/authentication.k8s.io/v1/tokenreviews"));
  EXPECT_THAT(api_.open.front().request.body, HasSubstr(R"("spec":{"token":"t"})"));
  EXPECT_EQ(api_.open.front().request.timeout, 10s);
  Answer(kAnna);
  EXPECT_THAT(said_, ElementsAre("anna", "anna"));
  loop_.Advance(9s);
  Authenticate("t");
  EXPECT_EQ(said_.size(), 3u);
  loop_.Advance(1s);
  Authenticate("t");
  EXPECT_EQ(api_.sent.size(), 2u) << "the deadline of ten seconds has passed";
}

TEST_F(Tokens, ThatAreUnknownAreCachedUnlessTheServerReportsAnError) {
  Authenticate("t");
  Answer(R"({"status":{}})");
  Authenticate("t");
  EXPECT_THAT(said_, ElementsAre("error: invalid bearer token", "error: invalid bearer token"));
  EXPECT_EQ(api_.sent.size(), 1u);
  Authenticate("u");
  Answer(R"({"status":{"error":"it has expired"}})");
  Authenticate("u");
  EXPECT_EQ(said_.back(), "error: it has expired");
  EXPECT_EQ(api_.sent.size(), 3u);
}

TEST_F(Tokens, AnUnreachableServerIsAnImmediateError) {
  Authenticate("t");
  Answer(client::NotReached());
  EXPECT_THAT(said_, ElementsAre("error: connection refused"));
  Authenticate("t");
  EXPECT_EQ(api_.sent.size(), 2u) << "the review is repeated";
}

TEST_F(Tokens, AFailingServerIsRetriedForTenSeconds) {
  Authenticate("t");
  int tries = 0;
  while (said_.empty() && tries < 10) {
    ++tries;
    Answer(client::Refused(500, "InternalError"));
    loop_.Advance(4s);
  }
  EXPECT_EQ(tries, 4) << "the fifth would begin after the ten seconds";
  EXPECT_THAT(said_, ElementsAre("error: InternalError"));
}

TEST_F(Tokens, NoCallbackIsCalledAfterDestruction) {
  bool called = false;
  {
    TokenReviewer tokens(loop_, api_, random_, metrics_, 10s);
    tokens.Review("t", [&](const Expected<User>&) { called = true; });
  }
  EXPECT_TRUE(api_.open.empty());
  EXPECT_FALSE(called);
}

class Union : public Identity {
 protected:
  Union() {
    environment_.Put("/ca", clients_.pem());
    environment_.Put("/proxy-ca", proxies_.pem());
    options_.client_ca_file = "/ca";
    options_.request_header.client_ca_file = "/proxy-ca";
  }
  std::string Authenticate(http::Request request, const char* answer = nullptr) {
    Trust trust(options_, {loop_, environment_, random_}, [] {});
    EXPECT_TRUE(trust.ReadFiles());
    TokenReviewer tokens(loop_, api_, random_, metrics_, 10s);
    FilterMetrics meters(metrics_);
    Authenticator authenticator(trust, &tokens, clock_, meters);
    std::string result = "nothing";
    authenticator.Authenticate(request, [&](Expected<User> user) {
      if (!user) {
        result = "error: " + user.error().message;
        return;
      }
      result = user->name;
      for (const std::string& group : user->groups) result += " " + group;
    });
    if (answer != nullptr) api_.Answer(answer);
    return result;
  }
  AuthenticationOptions options_;
};

TEST_F(Union, TheFirstMethodWithAUserWins) {
  http::Request request;
  EXPECT_EQ(Authenticate(request), "system:anonymous system:unauthenticated");
  request.headers = {{"Authorization", "Bearer t"}, {"X-Remote-User", "bert"}};
  EXPECT_EQ(Authenticate(request, kAnna), "anna system:authenticated");
  request.peer = Peer(clients_, "carl", {"g"});
  EXPECT_EQ(Authenticate(request), "carl g system:authenticated") << "regardless of the token";
  request.peer = Peer(proxies_, "any");
  EXPECT_EQ(Authenticate(request), "bert system:authenticated");
}

TEST_F(Union, AnInvalidCredentialIsIgnoredIfAnotherIsValid) {
  http::Request request;
  request.peer = Peer(other_authority_, "root", {"system:masters"});
  EXPECT_THAT(Authenticate(request),
              StartsWith("error: [x509: certificate signed by unknown authority, verifying"));
  request.headers = {{"Authorization", "Bearer t"}};
  EXPECT_EQ(Authenticate(request, kAnna), "anna system:authenticated");
  EXPECT_THAT(Authenticate(request, R"({"status":{}})"), HasSubstr(", invalid bearer token]"));
}

TEST_F(Union, AnonymousIsNotInTheAuthenticatedGroup) {
  http::Request request;
  request.peer = Peer(proxies_, "any");
  request.headers = {{"X-Remote-User", "system:anonymous"}};
  EXPECT_EQ(Authenticate(request), "system:anonymous");
}

}  // namespace
}  // namespace berth::service

#include "http/tls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>
#include <future>

#include "http/certificates.hpp"
#include "http/client.hpp"
#include "http/fake_certificate.hpp"
#include "http/fake_server.hpp"
#include "http/io_thread.hpp"

namespace berth::http {
namespace {

using testing::HasSubstr;

class Tls : public testing::Test {
 protected:
  static void Serve(FakePeer& peer, int) {
    while (peer.Read()) peer.Answer(200, "secret");
  }
  Expected<ClientResponse> Get(const FakeServer& server, TlsOptions tls, std::string host = "127.0.0.1") {
    auto client = Client::Make(io_, {.origin = {.tls = true, .host = std::move(host), .port = server.port()},
                                     .tls = std::move(tls)});
    if (!client) return std::unexpected(client.error());
    std::promise<Expected<ClientResponse>> answer;
    (*client)->Send({.target = "/"}, [&](Expected<ClientResponse> r) { answer.set_value(std::move(r)); });
    return answer.get_future().get();
  }

  SystemClock clock_;
  IoThread io_{clock_};
  FakeCertificate certificate_{"DNS:localhost,DNS:kubernetes,IP:127.0.0.1"};
  std::shared_ptr<SSL_CTX> context_ = certificate_.ServerContext();
};

TEST_F(Tls, AServerCertificateOfTheConfiguredAuthorityIsTrusted) {
  FakeServer server(Serve, context_.get());
  const auto answer = Get(server, {.ca_pem = certificate_.CertificatePem()});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "secret");
}

TEST_F(Tls, OtherServersAreNotTrustedAndNothingIsSent) {
  FakeServer server(Serve, context_.get());
  const FakeCertificate other("DNS:localhost");
  for (const std::string& ca : {other.CertificatePem(), std::string()}) {
    const auto answer = Get(server, {.ca_pem = ca});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(answer.error().message, HasSubstr("self"));
  }
}

TEST_F(Tls, ATrustedCertificateNeedNotBeARoot) {
  const auto authority = *CertificateAuthority::Make("root");
  const KeyPair pair = *authority.ForServer({"127.0.0.1"});
  boost::asio::ssl::context context(boost::asio::ssl::context::tls_server);
  context.use_certificate(boost::asio::buffer(pair.certificate), boost::asio::ssl::context::pem);
  context.use_private_key(boost::asio::buffer(pair.key), boost::asio::ssl::context::pem);
  FakeServer server(Serve, context.native_handle());
  const auto answer = Get(server, {.ca_pem = pair.certificate});
  EXPECT_TRUE(answer) << answer.error().message;
}

TEST_F(Tls, TheCertificateMustMatchTheName) {
  const FakeCertificate elsewhere("DNS:elsewhere");
  const auto context = elsewhere.ServerContext();
  FakeServer server(Serve, context.get());
  const auto refused = Get(server, {.ca_pem = elsewhere.CertificatePem()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(Get(server, {.ca_pem = elsewhere.CertificatePem(), .server_name = "elsewhere"}))
      << "another name to look for";
  EXPECT_TRUE(Get(server, {.insecure = true})) << "certificates are not verified";
}

TEST_F(Tls, TheClientCertificateIsSent) {
  const FakeCertificate own("DNS:client");
  const auto context = certificate_.ServerContext(&own);
  FakeServer server(Serve, context.get());
  EXPECT_FALSE(Get(server, {.ca_pem = certificate_.CertificatePem()}));
  const auto answer = Get(server, {.ca_pem = certificate_.CertificatePem(),
                                   .certificate_pem = own.CertificatePem(),
                                   .key_pem = own.KeyPem()});
  EXPECT_TRUE(answer) << answer.error().message;
}

TEST_F(Tls, NewCredentialsApplyFromTheNextConnectionOn) {
  FakeServer server(Serve, context_.get());
  auto client = *Client::Make(io_, {.origin = {.tls = true, .host = "127.0.0.1", .port = server.port()},
                                    .tls = {.ca_pem = certificate_.CertificatePem()}});
  const auto get = [&] {
    std::promise<bool> good;
    client->Send({.target = "/"}, [&](Expected<ClientResponse> r) { good.set_value(r.has_value()); });
    return good.get_future().get();
  };
  EXPECT_TRUE(get());
  ASSERT_TRUE(client->SetTls({.ca_pem = FakeCertificate("DNS:x").CertificatePem()}));
  EXPECT_FALSE(get());
  EXPECT_FALSE(client->SetTls({.ca_pem = "rubbish"}));
}

struct BadTls {
  std::string name;
  TlsOptions options;
  std::string want;
};
class TlsRefuses : public testing::TestWithParam<BadTls> {};
TEST_P(TlsRefuses, WithTheNameOfTheInvalidPart) {
  const auto context = MakeTlsContext(GetParam().options);
  ASSERT_FALSE(context);
  EXPECT_EQ(context.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(context.error().message, HasSubstr(GetParam().want));
}
const FakeCertificate kOne("DNS:one");
const FakeCertificate kTwo("DNS:two");
INSTANTIATE_TEST_SUITE_P(
    Table, TlsRefuses,
    testing::Values(
        BadTls{"ABrokenAuthority", {.ca_pem = "x"}, "certificate authority"},
        BadTls{
            "ABrokenCertificate", {.certificate_pem = "x", .key_pem = kOne.KeyPem()}, "client certificate"},
        BadTls{"ABrokenKey", {.certificate_pem = kOne.CertificatePem(), .key_pem = "x"}, "client key"},
        BadTls{"ACertificateWithoutKey",
               {.certificate_pem = kOne.CertificatePem()},
               "and its key must be given together"},
        BadTls{"AnotherCertificatesKey",
               {.certificate_pem = kOne.CertificatePem(), .key_pem = kTwo.KeyPem()},
               "client key"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace berth::http

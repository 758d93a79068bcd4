#include "http/authorities.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "http/message.hpp"
#include "http/openssl_objects.hpp"

namespace berth::http {
namespace {

void FreeStack(STACK_OF(X509) * stack) { sk_X509_pop_free(stack, X509_free); }

Certificate FromDer(const std::string& der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  return Certificate(d2i_X509(nullptr, &bytes, static_cast<long>(der.size())));
}

// Without an extended key usage every use is allowed.
bool MayBeAClient(X509* certificate) {
  auto* usages =
      static_cast<EXTENDED_KEY_USAGE*>(X509_get_ext_d2i(certificate, NID_ext_key_usage, nullptr, nullptr));
  if (usages == nullptr) return true;
  bool may = sk_ASN1_OBJECT_num(usages) == 0;
  for (int i = 0; i < sk_ASN1_OBJECT_num(usages); ++i) {
    const int usage = OBJ_obj2nid(sk_ASN1_OBJECT_value(usages, i));
    may = may || usage == NID_client_auth || usage == NID_anyExtendedKeyUsage;
  }
  EXTENDED_KEY_USAGE_free(usages);
  return may;
}

std::string Describe(int error) {
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "x509: certificate has expired or is not yet valid";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "x509: certificate signed by unknown authority";
    default:
      return std::string("x509: ") + X509_verify_cert_error_string(error);
  }
}

}  // namespace

struct AuthorityPool::Store {
  std::unique_ptr<X509_STORE, Free<X509_STORE_free>> store{X509_STORE_new()};
};

Expected<std::shared_ptr<const AuthorityPool>> AuthorityPool::Parse(std::string_view pem) {
  auto store = std::make_shared<Store>();
  const Bio in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  int count = 0;
  while (const Certificate certificate{PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_cert(store->store.get(), certificate.get());
    ++count;
  }
  const bool end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!end) return Invalid("x509: malformed certificate");
  if (count == 0) return Invalid("data does not contain any valid RSA or ECDSA certificates");
  return std::shared_ptr<const AuthorityPool>(new AuthorityPool(std::string(pem), std::move(store)));
}

Expected<> AuthorityPool::Verify(const PeerCertificate& peer, WallTime now) const {
  const auto refused = [](std::string why) { return Fail(ErrorCode::kUnauthorized, std::move(why)); };
  if (peer.chain.empty()) return refused("x509: no certificate");
  if (peer.chain.size() > kChainMax)
    return refused(
        fmt::format("x509: {} certificates, at most {} are accepted", peer.chain.size(), kChainMax));
  const Certificate leaf = FromDer(peer.chain.front());
  if (!leaf) return refused("x509: malformed certificate");
  const std::unique_ptr<STACK_OF(X509), Free<FreeStack>> between(sk_X509_new_null());
  for (std::size_t i = 1; i < peer.chain.size(); ++i) {
    if (Certificate certificate = FromDer(peer.chain[i])) sk_X509_push(between.get(), certificate.release());
  }
  const std::unique_ptr<X509_STORE_CTX, Free<X509_STORE_CTX_free>> check(X509_STORE_CTX_new());
  X509_STORE_CTX_init(check.get(), store_->store.get(), leaf.get(), between.get());
  X509_VERIFY_PARAM* rules = X509_STORE_CTX_get0_param(check.get());
  // As in Go, a trusted certificate need not be a root, and SHA-1 signatures are invalid.
  X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_auth_level(rules, 1);
  X509_VERIFY_PARAM_set_time(
      rules, std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::seconds>(now)));
  const bool trusted = X509_verify_cert(check.get()) == 1;
  ERR_clear_error();
  if (!trusted) return refused(Describe(X509_STORE_CTX_get_error(check.get())));
  STACK_OF(X509)* chain = X509_STORE_CTX_get0_chain(check.get());
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    if (!MayBeAClient(sk_X509_value(chain, i))) {
      return refused("x509: certificate specifies an incompatible key usage");
    }
  }
  return {};
}

}  // namespace berth::http

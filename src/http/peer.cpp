#include <openssl/bn.h>
#include <openssl/x509v3.h>

#include "http/openssl_objects.hpp"
#include "http/server_connection.hpp"

namespace berth::http {
namespace {

std::string Bytes(const ASN1_OCTET_STRING* text) {
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string Der(X509* certificate) {
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(certificate, &bytes);
  if (size < 0) return {};
  std::string der(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

std::string Decimal(const ASN1_INTEGER* number) {
  BIGNUM* big = ASN1_INTEGER_to_BN(number, nullptr);
  if (big == nullptr) return {};
  char* text = BN_bn2dec(big);
  std::string decimal(text);
  OPENSSL_free(text);
  BN_free(big);
  return decimal;
}

void ReadSubject(X509* certificate, PeerCertificate& peer) {
  static const std::unique_ptr<ASN1_OBJECT, decltype(&ASN1_OBJECT_free)> user_id(
      OBJ_txt2obj("1.3.6.1.4.1.57683.2", 1), &ASN1_OBJECT_free);
  const X509_NAME* name = X509_get_subject_name(certificate);
  for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
    const ASN1_OBJECT* kind = X509_NAME_ENTRY_get_object(entry);
    unsigned char* text = nullptr;
    const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry));
    if (size < 0) continue;
    std::string value(reinterpret_cast<char*>(text), static_cast<std::size_t>(size));
    OPENSSL_free(text);
    if (OBJ_obj2nid(kind) == NID_commonName) {
      peer.common_name = std::move(value);
    } else if (OBJ_obj2nid(kind) == NID_organizationName) {
      peer.organizations.push_back(std::move(value));
    } else if (OBJ_cmp(kind, user_id.get()) == 0) {
      peer.user_ids.push_back(std::move(value));
    }
  }
}

}  // namespace

std::shared_ptr<const PeerCertificate> PeerOf(SSL* ssl) {
  const Certificate certificate(SSL_get1_peer_certificate(ssl));
  if (!certificate) return nullptr;
  auto peer = std::make_shared<PeerCertificate>();
  peer->trusted = SSL_get_verify_result(ssl) == X509_V_OK;
  ReadSubject(certificate.get(), *peer);
  peer->serial_number = Decimal(X509_get0_serialNumber(certificate.get()));
  peer->subject_key_id = Bytes(X509_get0_subject_key_id(certificate.get()));
  peer->authority_key_id = Bytes(X509_get0_authority_key_id(certificate.get()));
  std::tm end{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) == 1) peer->not_after = timegm(&end);
  peer->chain.push_back(Der(certificate.get()));
  // On the server side the chain does not contain the client's own certificate.
  STACK_OF(X509)* chain = SSL_get_peer_cert_chain(ssl);
  for (int i = 0; i < sk_X509_num(chain); ++i) peer->chain.push_back(Der(sk_X509_value(chain, i)));
  return peer;
}

}  // namespace berth::http

#include <openssl/x509.h>

#include "http/server_connection.hpp"

namespace berth::http {

std::shared_ptr<const PeerCertificate> PeerOf(SSL* ssl) {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(ssl), &X509_free);
  if (!certificate) return nullptr;
  auto peer = std::make_shared<PeerCertificate>();
  peer->trusted = SSL_get_verify_result(ssl) == X509_V_OK;
  const X509_NAME* name = X509_get_subject_name(certificate.get());
  for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
    const int kind = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    unsigned char* text = nullptr;
    const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry));
    if (size < 0) continue;
    std::string value(reinterpret_cast<char*>(text), static_cast<std::size_t>(size));
    OPENSSL_free(text);
    if (kind == NID_commonName)
      peer->common_name = std::move(value);
    else if (kind == NID_organizationName)
      peer->organizations.push_back(std::move(value));
  }
  return peer;
}

}  // namespace berth::http

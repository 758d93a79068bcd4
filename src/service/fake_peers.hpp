// Client certificates for tests without a connection.
#pragma once

#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <vector>

#include "http/certificates.hpp"
#include "http/message.hpp"

namespace berth::service {

inline std::string DerOf(const std::string& pem) {
  BIO* in = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* certificate = PEM_read_bio_X509(in, nullptr, nullptr, nullptr);
  BIO_free(in);
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(certificate, &bytes);
  std::string der(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  X509_free(certificate);
  return der;
}

// The identity that the server derives from such a certificate.
inline std::shared_ptr<const http::PeerCertificate> Peer(const http::CertificateAuthority& authority,
                                                         const std::string& name,
                                                         const std::vector<std::string>& groups = {}) {
  auto peer = std::make_shared<http::PeerCertificate>();
  peer->common_name = name;
  peer->organizations = groups;
  peer->serial_number = "1";
  peer->chain = {DerOf(authority.ForClient(name, groups)->certificate)};
  return peer;
}

}  // namespace berth::service

// Temporary certificates for tests: self-signed, valid from yesterday for a week.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace berth::http {

class FakeCertificate {
 public:
  // `names` in OpenSSL's notation: "DNS:localhost,IP:127.0.0.1".
  explicit FakeCertificate(const std::string& names) : key_(EVP_EC_gen("P-256")), certificate_(X509_new()) {
    X509* x = certificate_.get();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -24 * 3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 6 * 24 * 3600);
    X509_set_pubkey(x, key_.get());
    X509_NAME* name = X509_get_subject_name(x);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1,
                               -1, 0);
    X509_set_issuer_name(x, name);
    Extend(NID_subject_alt_name, names);
    Extend(NID_basic_constraints, "critical,CA:TRUE");
    X509_sign(x, key_.get(), EVP_sha256());
  }

  std::string CertificatePem() const {
    return Pem([this](BIO* out) { PEM_write_bio_X509(out, certificate_.get()); });
  }
  std::string KeyPem() const {
    return Pem([this](BIO* out) {
      PEM_write_bio_PrivateKey(out, key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
  }
  // For a server that presents this certificate and, if `client` is given, requests that one from its peer.
  std::shared_ptr<SSL_CTX> ServerContext(const FakeCertificate* client = nullptr) const {
    std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
    SSL_CTX_use_certificate(context.get(), certificate_.get());
    SSL_CTX_use_PrivateKey(context.get(), key_.get());
    if (client != nullptr) {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), client->certificate_.get());
      SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
    return context;
  }

 private:
  template <class T, auto kFree>
  struct Free {
    void operator()(T* object) const { kFree(object); }
  };

  void Extend(int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, certificate_.get(), certificate_.get(), nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    X509_add_ext(certificate_.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
  template <class Write>
  static std::string Pem(Write&& write) {
    BIO* out = BIO_new(BIO_s_mem());
    write(out);
    char* data = nullptr;
    const long size = BIO_get_mem_data(out, &data);
    std::string text(data, static_cast<std::size_t>(size));
    BIO_free(out);
    return text;
  }

  std::unique_ptr<EVP_PKEY, Free<EVP_PKEY, EVP_PKEY_free>> key_;
  std::unique_ptr<X509, Free<X509, X509_free>> certificate_;
};

}  // namespace berth::http

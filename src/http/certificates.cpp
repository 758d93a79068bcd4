#include "http/certificates.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "http/openssl_objects.hpp"
#include "http/origin.hpp"

namespace berth::http {
namespace {

constexpr long kHour = 3600;
constexpr long kTenYears = 10L * 365 * 24 * kHour;

template <class Write>
std::string Pem(Write&& write) {
  const Bio out(BIO_new(BIO_s_mem()));
  write(out.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

std::string CertificatePem(X509* certificate) {
  return Pem([&](BIO* out) { PEM_write_bio_X509(out, certificate); });
}

std::string KeyPem(EVP_PKEY* key) {
  return Pem([&](BIO* out) { PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

void AddName(X509_NAME* name, const char* field, std::string_view text) {
  X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.data()),
                             static_cast<int>(text.size()), -1, 0);
}

bool Extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  if (extension == nullptr) return false;
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  return true;
}

// A certificate with only serial number, validity and key set.
Certificate Blank(EVP_PKEY* key) {
  Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  unsigned char serial[16];
  RAND_bytes(serial, sizeof serial);
  serial[0] &= 0x7f;
  const std::unique_ptr<BIGNUM, Free<BN_free>> number(BN_bin2bn(serial, sizeof serial, nullptr));
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate.get()));
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kHour);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kTenYears);
  X509_set_pubkey(certificate.get(), key);
  return certificate;
}

}  // namespace

struct CertificateAuthority::Pair {
  PrivateKey key;
  Certificate certificate;

  Expected<KeyPair> Sign(Certificate signee, EVP_PKEY* its_key) const {
    X509_set_issuer_name(signee.get(), X509_get_subject_name(certificate.get()));
    if (X509_sign(signee.get(), key.get(), EVP_sha256()) == 0)
      return Fail(ErrorCode::kInternal, "cannot sign a certificate");
    return KeyPair{CertificatePem(signee.get()), KeyPem(its_key)};
  }
};

Expected<CertificateAuthority> CertificateAuthority::Make(std::string_view name) {
  auto pair = std::make_shared<Pair>();
  pair->key.reset(EVP_EC_gen("P-256"));
  if (!pair->key) return Fail(ErrorCode::kInternal, "cannot create a key");
  pair->certificate = Blank(pair->key.get());
  X509* x = pair->certificate.get();
  AddName(X509_get_subject_name(x), "CN", name);
  X509_set_issuer_name(x, X509_get_subject_name(x));
  Extend(x, x, NID_basic_constraints, "critical,CA:TRUE");
  Extend(x, x, NID_key_usage, "critical,keyCertSign,digitalSignature");
  Extend(x, x, NID_subject_key_identifier, "hash");
  if (X509_sign(x, pair->key.get(), EVP_sha256()) == 0)
    return Fail(ErrorCode::kInternal, "cannot sign a certificate");
  return CertificateAuthority(std::move(pair));
}

std::string CertificateAuthority::pem() const { return CertificatePem(pair_->certificate.get()); }

Expected<KeyPair> CertificateAuthority::ForServer(const std::vector<std::string>& names) const {
  const PrivateKey key(EVP_EC_gen("P-256"));
  Certificate certificate = Blank(key.get());
  AddName(X509_get_subject_name(certificate.get()), "CN", names.empty() ? "server" : names.front());
  std::string alternatives;
  for (const auto& name : names) {
    alternatives += alternatives.empty() ? "" : ",";
    alternatives += (IsIpAddress(name) ? "IP:" : "DNS:") + name;
  }
  X509* issuer = pair_->certificate.get();
  if (!Extend(certificate.get(), issuer, NID_subject_alt_name, alternatives))
    return Invalid("cannot create a certificate for " + alternatives);
  Extend(certificate.get(), issuer, NID_key_usage, "critical,digitalSignature");
  Extend(certificate.get(), issuer, NID_ext_key_usage, "serverAuth");
  return pair_->Sign(std::move(certificate), key.get());
}

Expected<KeyPair> CertificateAuthority::ForClient(std::string_view user,
                                                  const std::vector<std::string>& groups) const {
  const PrivateKey key(EVP_EC_gen("P-256"));
  Certificate certificate = Blank(key.get());
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  AddName(subject, "CN", user);
  for (const auto& group : groups) AddName(subject, "O", group);
  X509* issuer = pair_->certificate.get();
  Extend(certificate.get(), issuer, NID_key_usage, "critical,digitalSignature");
  Extend(certificate.get(), issuer, NID_ext_key_usage, "clientAuth");
  return pair_->Sign(std::move(certificate), key.get());
}

}  // namespace berth::http

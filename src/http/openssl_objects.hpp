// Owning pointers for OpenSSL objects.
#pragma once

#include <openssl/bio.h>
#include <openssl/x509.h>

#include <memory>

namespace berth::http {

template <auto kFree>
struct Free {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Bio = std::unique_ptr<BIO, Free<BIO_free_all>>;

}  // namespace berth::http

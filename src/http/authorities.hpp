// Authorities that sign the certificates of clients.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace berth::http {

struct PeerCertificate;

// Immutable; any thread.
class AuthorityPool {
 public:
  // A bundle of PEM certificates, at least one. Errors read as client-go's.
  static Expected<std::shared_ptr<const AuthorityPool>> Parse(std::string_view pem);

  // Whether a chain leads from the client's certificate to one of these, all of it is valid now, and all of
  // it may be used by clients; as Go's crypto/x509 judges. The error says which of these fails.
  Expected<> Verify(const PeerCertificate& peer, WallTime now) const;

  const std::string& pem() const { return pem_; }

 private:
  struct Store;
  AuthorityPool(std::string pem, std::shared_ptr<const Store> store)
      : pem_(std::move(pem)), store_(std::move(store)) {}

  const std::string pem_;
  const std::shared_ptr<const Store> store_;
};

}  // namespace berth::http

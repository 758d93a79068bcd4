// Certificate authorities that sign client certificates.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace berth::http {

struct PeerCertificate;

// Immutable; thread-safe.
class AuthorityPool {
 public:
  // Parses a bundle of PEM certificates, at least one. Errors have client-go's texts.
  static Expected<std::shared_ptr<const AuthorityPool>> Parse(std::string_view pem);

  // Chains with more certificates are invalid: each costs the verification of a signature.
  static constexpr std::size_t kChainMax = 10;

  // Checks that a chain leads from the client's certificate to one of these authorities, that all of it is
  // valid at `now`, and that all of it may be used by clients; with the rules of Go's crypto/x509. The error
  // names the failed check.
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

// Verifies client certificates once per connection instead of once per request.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "http/authorities.hpp"
#include "http/message.hpp"

namespace berth::service {

// Remembers results of AuthorityPool::Verify. A certificate object belongs to one connection. Holds at most
// kResultsMax results. One thread.
class CertificateVerifier {
 public:
  static constexpr std::size_t kResultsMax = 4096;
  // For so long a certificate may be used after it expired.
  static constexpr Duration kReuse = std::chrono::minutes(1);

  // As authorities->Verify(*peer, now), with a result that is at most kReuse old.
  Expected<> Verify(const std::shared_ptr<const http::PeerCertificate>& peer,
                    const std::shared_ptr<const http::AuthorityPool>& authorities, WallTime now);

  // The number of certificate chains that were verified.
  std::uint64_t verifications() const { return verifications_; }

 private:
  struct Result {
    // Identify the objects: another object may have the address of one that was deleted.
    std::weak_ptr<const http::PeerCertificate> peer;
    std::weak_ptr<const http::AuthorityPool> authorities;
    WallTime at;
    Expected<> verdict;
  };
  boost::unordered_flat_map<std::pair<const void*, const void*>, Result> results_;
  std::uint64_t verifications_ = 0;
};

}  // namespace berth::service

#include "service/auth/certificate_verifier.hpp"

namespace berth::service {

Expected<> CertificateVerifier::Verify(const std::shared_ptr<const http::PeerCertificate>& peer,
                                       const std::shared_ptr<const http::AuthorityPool>& authorities,
                                       WallTime now) {
  const std::pair<const void*, const void*> key(peer.get(), authorities.get());
  if (const auto found = results_.find(key); found != results_.end()) {
    const Result& known = found->second;
    const bool same = known.peer.lock() == peer && known.authorities.lock() == authorities;
    if (same && now >= known.at && now - known.at < kReuse) return known.verdict;
  }
  ++verifications_;
  Expected<> verdict = authorities->Verify(*peer, now);
  if (results_.size() >= kResultsMax) {
    erase_if(results_, [](const auto& entry) { return entry.second.peer.expired(); });
    if (results_.size() >= kResultsMax) results_.clear();
  }
  results_.insert_or_assign(key, Result{peer, authorities, now, verdict});
  return verdict;
}

}  // namespace berth::service

#include "service/auth/client_certificate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hex.hpp"
#include "service/auth/sha256.hpp"

namespace berth::service {
namespace {

std::string HexPairs(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) {
    if (!out.empty()) out += ':';
    out += fmt::format("{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return out;
}

std::string CredentialId(const std::string& der) { return "X509SHA256=" + Hex(Sha256(der)); }

Expected<std::string> UidOf(const http::PeerCertificate& peer) {
  const auto refused = [](std::string why) { return Fail(ErrorCode::kUnauthorized, std::move(why)); };
  if (peer.user_ids.empty()) return std::string();
  if (peer.user_ids.size() > 1) {
    return refused(fmt::format("expected 1 UID, but found multiple: [{}]", fmt::join(peer.user_ids, " ")));
  }
  if (peer.user_ids.front().empty()) return refused("UID cannot be an empty string");
  return peer.user_ids.front();
}

}  // namespace

Expected<std::optional<User>> UserOfCertificate(const std::shared_ptr<const http::PeerCertificate>& peer,
                                                const std::shared_ptr<const http::AuthorityPool>& authorities,
                                                CertificateVerifier& verifier, WallTime now) {
  if (const auto verified = verifier.Verify(peer, authorities, now); !verified) {
    return Fail(ErrorCode::kUnauthorized,
                fmt::format("verifying certificate SN={}, SKID={}, AKID={} failed: {}", peer->serial_number,
                            HexPairs(peer->subject_key_id), HexPairs(peer->authority_key_id),
                            verified.error().message));
  }
  if (peer->common_name.empty()) return std::nullopt;
  BERTH_TRY(std::string uid, UidOf(*peer));
  return User{peer->common_name,
              std::move(uid),
              peer->organizations,
              {{"authentication.kubernetes.io/credential-id", {CredentialId(peer->chain.front())}}}};
}

}  // namespace berth::service

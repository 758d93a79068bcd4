// The Lease that a leader holds: what stands in it, and how it is written without losing what others put
// there.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace berth::client {

// client-go 0.37's LeaderElectionRecord, as a Lease's spec holds it. Times are texts: ours are only written,
// other people's never compared with our clock.
struct LeaseRecord {
  std::string holder{};  // empty: nobody's
  std::int64_t lease_seconds = 0;
  std::string acquired{}, renewed{};  // metav1.MicroTime
  std::int64_t transitions = 0;
  std::string strategy{}, preferred_holder{};  // of coordinated leader election

  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
  Duration lease() const { return std::chrono::seconds(lease_seconds); }
};

// The object as it was last seen. Copies share nothing.
class Lease {
 public:
  // The object to create.
  static Lease Fresh(std::string_view ns, std::string_view name);
  // Fails if it is no Lease, or a field of the spec is of the wrong type.
  static Expected<Lease> Parse(std::string_view json);

  Lease(const Lease& other);
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;
  ~Lease();

  const LeaseRecord& record() const { return record_; }
  const std::string& resource_version() const { return resource_version_; }
  const std::string& uid() const { return uid_; }
  // The whole object with this record in it. Everything else stays as it was, fields that we do not know
  // included; strategy and preferredHolder go, as client-go lets them go.
  std::string With(const LeaseRecord& record) const;

 private:
  explicit Lease(boost::json::object&& document);

  std::unique_ptr<boost::json::object> document_;
  LeaseRecord record_;
  std::string resource_version_, uid_;
};

}  // namespace berth::client

// The leader election Lease: its record, and writing it without losing fields set by others.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace berth::client {

// client-go 0.37's LeaderElectionRecord, as stored in a Lease's spec. Times are texts: own times are only
// written, those of others are never compared with the local clock.
struct LeaseRecord {
  std::string holder{};  // empty: no holder
  std::int64_t lease_seconds = 0;
  std::string acquired{}, renewed{};  // metav1.MicroTime
  std::int64_t transitions = 0;
  std::string strategy{}, preferred_holder{};  // set by coordinated leader election

  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
  Duration lease() const { return std::chrono::seconds(lease_seconds); }
};

// The Lease object as last read. Copies share nothing.
class Lease {
 public:
  // The object to create.
  static Lease Fresh(std::string_view ns, std::string_view name);
  // Fails if the text is not a Lease, or a field of the spec has the wrong type.
  static Expected<Lease> Parse(std::string_view json);

  Lease(const Lease& other);
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;
  ~Lease();

  const LeaseRecord& record() const { return record_; }
  const std::string& resource_version() const { return resource_version_; }
  const std::string& uid() const { return uid_; }
  // The whole object with this record. Everything else is unchanged, including unknown fields; strategy and
  // preferredHolder are removed, as client-go removes them.
  std::string With(const LeaseRecord& record) const;

 private:
  explicit Lease(boost::json::object&& document);

  std::unique_ptr<boost::json::object> document_;
  LeaseRecord record_;
  std::string resource_version_, uid_;
};

}  // namespace berth::client

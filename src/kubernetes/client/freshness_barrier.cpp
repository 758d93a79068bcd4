#include "kubernetes/client/freshness_barrier.hpp"

#include <boost/unordered/unordered_flat_set.hpp>

#include "kubernetes/api/decode.hpp"
#include "kubernetes/client/object_store.hpp"
#include "kubernetes/client/reflector_requests.hpp"
#include "observability/log/log.hpp"

namespace berth::client {
namespace {

using namespace std::chrono_literals;

constexpr BackoffOptions kReadBackoff{.initial = 100ms, .factor = 2, .jitter = 0.2, .cap = 2s};
// The time that the watch has to prove freshness before the whole collection is read.
constexpr Duration kHead = 20ms;
constexpr Duration kReadInterval = 5s;

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace

bool VersionBefore(std::string_view version, std::string_view other) {
  if (!IsNumber(version) || !IsNumber(other)) return false;
  return version.size() != other.size() ? version.size() < other.size() : version < other;
}

bool VersionReached(std::string_view version, std::string_view wanted) {
  if (IsNumber(version) && IsNumber(wanted)) return !VersionBefore(version, wanted);
  return version == wanted;
}

FreshnessBarrier::FreshnessBarrier(http::Loop& loop, Api& api, api::Decoder& decoder, Random& random,
                                   FreshnessBarrierOptions options, FreshnessView view, Done done)
    : loop_(loop),
      api_(api),
      decoder_(decoder),
      random_(random),
      options_(std::move(options)),
      view_(std::move(view)),
      done_(std::move(done)),
      backoff_(kReadBackoff) {}

FreshnessBarrier::~FreshnessBarrier() {
  if (call_ != 0) api_.Cancel(call_);
  loop_.Cancel(timer_);
}

void FreshnessBarrier::Start() {
  last_at_start_ = view_.last_version();
  Read(/*whole=*/false);
}

void FreshnessBarrier::Read(bool whole) {
  call_ = api_.Send(VersionsRequest(options_.path, options_.field_selector, whole ? wanted_ : ""),
                    [this, whole](Reply reply) {
                      call_ = 0;
                      OnRead(whole, std::move(reply));
                    });
}

void FreshnessBarrier::OnRead(bool whole, Reply reply) {
  const auto list = reply ? decoder_.Versions(*reply)
                          : Expected<api::VersionList>(std::unexpected(reply.error().ToError()));
  if (!list) {
    log::Warning("Failed to read the state written by the previous leader; scheduling waits",
                 {{"resource", options_.resource}, {"err", list.error().message}});
    return Again(backoff_.Next(loop_.Now(), random_));
  }
  // The first response suffices for the watch: it was requested after the lease was acquired.
  if (wanted_.empty()) {
    wanted_ = list->resource_version;
    if (Restored()) {
      log::Warning(
          "The API server is at an older version than the watch, as after a restore; scheduling waits for a "
          "new list",
          {{"resource", options_.resource}, {"version", wanted_}, {"watch", last_at_start_}});
      view_.list_again();
    }
  }
  if (EndIfFresh() || Restored()) return;
  if (!whole) return Again(kHead);
  Compare(*list);
  Again(kReadInterval);
  if (compared_ && awaited_.empty()) End("list");
}

void FreshnessBarrier::Compare(const api::VersionList& list) {
  awaited_.clear();
  compared_ = !view_.last_version().empty();  // else the first state is compared
  if (!compared_) return;
  std::size_t found = 0;
  for (const auto& item : list.items) {
    const std::string* known = view_.version_of(item.ns, item.name);
    if (known != nullptr) ++found;
    if (known != nullptr && VersionReached(*known, item.resource_version)) continue;
    std::string key =
        item.ns.empty() ? std::string(item.name) : std::string(item.ns).append("/").append(item.name);
    if (view_.unreadable(key)) continue;
    awaited_.emplace(std::move(key), RequiredVersion{std::string(item.resource_version)});
  }
  if (found == view_.size()) return;
  boost::unordered_flat_set<ObjectKey, ByKey, ByKey> listed;
  listed.reserve(list.items.size());
  for (const auto& item : list.items) listed.insert(ObjectKey{item.ns, item.name});
  view_.each([&](const std::string& key, const std::string& version) {
    const bool newer = VersionBefore(list.resource_version, version);
    if (!newer && !listed.contains(ObjectKey::Split(key))) {
      awaited_.emplace(key, RequiredVersion{.version = list.resource_version, .gone = true});
    }
  });
}

void FreshnessBarrier::OnEvent(std::string_view key, std::string_view version, bool gone) {
  if (wanted_.empty() || EndIfFresh()) return;
  const auto found = awaited_.find(std::string(key));
  if (found == awaited_.end()) return;
  const bool ends = gone && found->second.gone;
  if (!ends && !VersionReached(version, found->second.version)) return;
  awaited_.erase(found);
  if (compared_ && awaited_.empty()) End("list");
}

void FreshnessBarrier::OnProgress(bool replaced) {
  if (replaced) last_at_start_.clear();
  if (wanted_.empty() || EndIfFresh()) return;
  if (!replaced) return;
  // A state from a cache older than the read: the comparison is no longer valid.
  compared_ = false;
  awaited_.clear();
  if (call_ == 0) Again(Duration::zero());
}

void FreshnessBarrier::Again(Duration delay) {
  loop_.Cancel(timer_);
  timer_ = loop_.After(delay, [this] {
    timer_ = http::Loop::TimerId::kNone;
    Read(/*whole=*/!wanted_.empty());
  });
}

bool FreshnessBarrier::EndIfFresh() {
  const std::string_view last = view_.last_version();
  if (last.empty() || Restored() || !VersionReached(last, wanted_)) return false;
  End("watch");
  return true;
}

// A quorum read returns at least the version of every event that was delivered before it, unless the server's
// data were replaced by older ones.
bool FreshnessBarrier::Restored() const { return VersionBefore(wanted_, last_at_start_); }

void FreshnessBarrier::End(std::string_view how) {
  if (call_ != 0) api_.Cancel(std::exchange(call_, 0));
  loop_.Cancel(timer_);
  timer_ = http::Loop::TimerId::kNone;
  if (auto done = std::exchange(done_, nullptr)) done(how);  // may destroy `this`
}

}  // namespace berth::client

#include "kubernetes/client/informers.hpp"

#include <fmt/format.h>

#include <optional>
#include <tuple>

#include "base/random.hpp"
#include "http/loop.hpp"
#include "kubernetes/api/external_groups.hpp"
#include "kubernetes/client/discovery.hpp"
#include "kubernetes/client/outage_log.hpp"
#include "kubernetes/client/reflector.hpp"
#include "kubernetes/client/resources.hpp"
#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {
namespace {

// An API server that has just started rejects all requests until it has loaded its roles. When it has
// delivered pods, they are loaded, and the first repetition of a list decides.
constexpr Duration kGracePeriod = std::chrono::seconds(5);
constexpr Duration kGracePeriodWithRoles = std::chrono::milliseconds(500);

// The effect of a kind that cannot be listed.
struct Absence {
  std::string_view consequence;  // empty: scheduling always waits for the kind
  bool accepts_more = false;     // a filter accepts nodes that kube-scheduler rejects
};

Absence AbsenceOf(std::string_view kind) {
  if (kind == "Namespace") return {"namespace selectors of affinity terms match no labels", true};
  if (kind == "CSIDriver") return {"free storage capacity is ignored", true};
  // The role system:kube-scheduler contains it from 1.32 on; kube-scheduler 1.31 does not read it.
  if (kind == "VolumeAttachment") return {"volume limits count only volumes of pods"};
  if (kind == "CSIStorageCapacity") return {"drivers that publish storage capacity appear to have none"};
  if (kind == "Service" || kind == "ReplicationController" || kind == "ReplicaSet" || kind == "StatefulSet")
    return {"its pods get no default spreading"};
  if (kind == "DeviceClass" || kind == "ResourceClaim" || kind == "ResourceSlice" ||
      kind == "DeviceTaintRule")
    return {"pods with resource claims wait"};
  if (kind == "PodGroup") return {"pods of pod groups wait"};
  if (kind == "CompositePodGroup") return {"pods of composite pod groups wait"};
  if (kind == "ElasticQuota") return {"no namespace has a quota"};
  if (kind == "NodeResourceTopology") return {"the NUMA zones of nodes are not considered"};
  if (kind == "PriorityClass") return {"pods with a priority class are not evicted"};
  if (kind == "Job") return {"pods of Jobs wait if the plugin Gangs makes groups of them"};
  return {};
}

// Terminated pods use no resources and are not delivered; a pod that terminates is delivered as a deletion.
template <class T>
constexpr std::string_view kFieldSelector = "";
template <>
constexpr std::string_view kFieldSelector<api::Pod> = "status.phase!=Succeeded,status.phase!=Failed";

// "v1beta1" of "/apis/resource.k8s.io/v1beta1/resourceclaims".
std::string_view VersionIn(std::string_view path) {
  const std::string_view group_version = path.substr(0, path.rfind('/'));
  return group_version.substr(group_version.rfind('/') + 1);
}

template <class Kinds, class MoreKinds>
struct Joined;
template <class... T, class... More>
struct Joined<api::KindList<T...>, api::KindList<More...>> {
  using Kinds = api::KindList<T..., More...>;
  using Reflectors = std::tuple<std::unique_ptr<Reflector<T>>..., std::unique_ptr<Reflector<More>>...>;
};
using Watched = Joined<api::AllKinds, api::ExternalGroupKinds>;

template <class T>
api::PodGroupPtr GroupOf(const std::shared_ptr<const T>& object) {
  return object == nullptr ? nullptr : api::ToPodGroup(*object);
}

}  // namespace

struct ClusterSource::Impl {
  Impl(http::Loop& loop, Api& api, metrics::Registry& registry, ports::ClusterSink& sink,
       ClusterSourceOptions options)
      : loop(loop),
        api(loop, api),
        registry(registry),
        sink(sink),
        options(std::move(options)),
        random(this->options.seed),
        decoder(this->options.retained),
        discovery(loop, this->api, decoder, random) {}

  void Start() {
    Watched::Kinds::ForEach([&]<class T>() { unsettled += Wanted<T>(); });
    Watched::Kinds::ForEach([&]<class T>() {
      if (Wanted<T>()) Find<T>();
    });
  }

  template <class T>
  const Resource& Source() const {
    return SourceOf<T>(options.wanted);
  }

  template <class T>
  bool Wanted() const {
    return options.wanted(Source<T>());
  }

  // Pods and nodes are nearly all of the traffic. Objects whose text is retained must be JSON.
  template <class T>
  Encoding EncodingFor() const {
    const api::RetainedTexts& texts = options.retained.texts;
    if (std::is_same_v<T, api::Node> && !texts.nodes) return options.encoding;
    if (std::is_same_v<T, api::Pod> && !texts.waiting_pods && !texts.placed_pods) return options.encoding;
    return Encoding::kJson;
  }

  // The core group needs no discovery: without pods and nodes there is nothing to schedule.
  template <class T>
  void Find() {
    const Resource& resource = Source<T>();
    if (resource.group.empty()) {
      return Follow<T>(Resource::GroupPath("", "v1") + "/" + std::string(resource.plural));
    }
    discovery.Follow(resource, [this, &resource, settled = false](std::optional<std::string> path) mutable {
      if (path) {
        if (options.on_version) options.on_version(T::kKind, VersionIn(*path));
        Follow<T>(*path, /*counts=*/!settled);
      } else if (!settled) {
        ReportAbsent(resource);
        Settled();
      }
      settled = true;
    });
  }

  // A plugin of the configuration reads it, so its absence is probably a mistake.
  static void ReportAbsent(const Resource& resource) {
    if (!resource.on_request) return;
    log::Warning("The API server does not have a resource that a plugin reads; it is looked up again",
                 {{"resource", resource.plural},
                  {"group", resource.group},
                  {"consequence", AbsenceOf(resource.kind).consequence},
                  {"remedy", "install its CustomResourceDefinition, or configure the plugin without it"}});
  }

  // Watches the resource at `path`. A kind that appears after the start does not delay OnSynced.
  template <class T>
  void Follow(const std::string& path, bool counts = true) {
    auto& reflector = std::get<std::unique_ptr<Reflector<T>>>(reflectors);
    if (reflector != nullptr) return reflector->MoveTo(path);
    const auto waited_for = std::make_shared<bool>(counts);
    reflector = std::make_unique<Reflector<T>>(
        loop, api, decoder, registry, random,
        ReflectorOptions{.resource = std::string(Source<T>().plural),
                         .group = std::string(Source<T>().group),
                         .kind = std::string(T::kKind),
                         .path = path,
                         .field_selector = std::string(kFieldSelector<T>),
                         .encoding = EncodingFor<T>(),
                         .streaming = options.streaming,
                         .awaited = counts && !IsOptional(T::kKind),
                         .idle_timeout = options.watch_idle_timeout},
        ReflectorHandlers<T>{.on_change = [this](ports::Change<T> c) { Deliver(std::move(c)); },
                             .on_synced =
                                 [this, waited_for] {
                                   if (std::exchange(*waited_for, false)) Settled();
                                 },
                             .on_absent = [this] { discovery.Recheck(Source<T>().group); },
                             .on_unavailable =
                                 [this, waited_for, first = MonoTime{}](Unavailable why) mutable {
                                   if (first == MonoTime{}) first = loop.Now();
                                   if (loop.Now() - first >= GracePeriod())
                                     ContinueWithout(Source<T>(), why, *waited_for);
                                 }});
    reflector->Start();
  }

  template <class T>
  void Deliver(ports::Change<T> change) {
    if constexpr (requires { T::kSource; }) {
      ports::Change<api::PodGroup> group{GroupOf(change.before), GroupOf(change.after)};
      // Status updates, which are frequent.
      if (group.before && group.after && api::SameExternalGroup(*group.before, *group.after)) return;
      sink.On(std::move(group));
    } else {
      sink.On(std::move(change));
    }
  }

  bool IsOptional(std::string_view kind) const {
    const Absence absence = AbsenceOf(kind);
    return !absence.consequence.empty() && (!absence.accepts_more || options.allow_missing_resources);
  }

  Duration GracePeriod() const {
    const auto& pods = std::get<std::unique_ptr<Reflector<api::Pod>>>(reflectors);
    return pods != nullptr && pods->synced() ? kGracePeriodWithRoles : kGracePeriod;
  }

  // A role written for an older scheduler lacks kinds that were added later.
  void ContinueWithout(const Resource& resource, Unavailable why, bool& waited_for) {
    const Absence absence = AbsenceOf(resource.kind);
    if (!waited_for || absence.consequence.empty()) return;
    const char* what = why == Unavailable::kForbidden ? "Not allowed to list" : "Unable to decode the list";
    if (!IsOptional(resource.kind)) {
      if (waiting_logged.First(resource.plural)) {
        log::Error(fmt::format("{}; scheduling waits for this resource", what),
                   {{"resource", resource.plural},
                    {"group", resource.group},
                    {"remedy", "grant list and watch, or set --berth-allow-missing-resources: " +
                                   std::string(absence.consequence)}});
      }
      return;
    }
    waited_for = false;
    log::Warning(
        fmt::format("{}; scheduling continues without this resource", what),
        {{"resource", resource.plural}, {"group", resource.group}, {"consequence", absence.consequence}});
    Settled();
  }

  void FreshnessBarrier(std::move_only_function<void()> caught_up) {
    catching_up = std::move(caught_up);
    const MonoTime since = loop.Now();
    const auto prove = [&]<class T>() {
      auto& reflector = std::get<std::unique_ptr<Reflector<T>>>(reflectors);
      if (reflector == nullptr) return;  // not selected
      // An API server may lack claims, or forbid them; then the previous leader has not written any either.
      if (std::is_same_v<T, api::ResourceClaim> && !reflector->synced()) return;
      ++unproven;
      reflector->ProveFresh([this, since](std::string_view how) { Proven(Source<T>().plural, how, since); });
    };
    ++unproven;
    prove.template operator()<api::Pod>();
    prove.template operator()<api::PersistentVolume>();
    prove.template operator()<api::PersistentVolumeClaim>();
    prove.template operator()<api::ResourceClaim>();
    Proven("", "", since);
  }

  void Proven(std::string_view resource, std::string_view how, MonoTime since) {
    const double seconds = std::chrono::duration<double>(loop.Now() - since).count();
    if (const auto log = log::V(2); log && !resource.empty())
      log.Info("Caught up", {{"resource", resource}, {"by", how}, {"seconds", seconds}});
    if (--unproven > 0) return;
    registry
        .Histogram("berth_leader_barrier_seconds",
                   "[ALPHA] Time from acquiring the lease, or from the first lists if they are later, until "
                   "all writes of the previous leader have been received.",
                   metrics::ExponentialBuckets(0.001, 2, 16))
        .Observe(seconds);
    log::Info("All writes of the previous leader have been received", {{"seconds", seconds}});
    if (auto callback = std::exchange(catching_up, nullptr)) callback();
  }

  // One more kind has been delivered, or does not exist.
  void Settled() {
    if (--unsettled > 0) return;
    log::Info("Caches are synced",
              {{"pods", std::get<std::unique_ptr<Reflector<api::Pod>>>(reflectors)->size()},
               {"nodes", std::get<std::unique_ptr<Reflector<api::Node>>>(reflectors)->size()}});
    if (options.on_complete) options.on_complete();
    sink.OnSynced();
    if (options.on_synced) options.on_synced();
  }

  http::Loop& loop;
  OutageLog api;
  metrics::Registry& registry;
  ports::ClusterSink& sink;
  const ClusterSourceOptions options;
  Random random;
  api::Decoder decoder;
  int unsettled = 0;
  int unproven = 0;  // kinds that FreshnessBarrier waits for
  std::move_only_function<void()> catching_up;
  Watched::Reflectors reflectors;
  Discovery discovery;
  log::Once waiting_logged{};  // by resource
};

ClusterSource::ClusterSource(http::Loop& loop, Api& api, metrics::Registry& registry,
                             ports::ClusterSink& sink, ClusterSourceOptions options)
    : impl_(std::make_unique<Impl>(loop, api, registry, sink, std::move(options))) {}

ClusterSource::~ClusterSource() {
  http::Loop& loop = impl_->loop;
  loop.Sync([this] { impl_.reset(); });
}

void ClusterSource::FreshnessBarrier(std::move_only_function<void()> caught_up) {
  impl_->loop.Post([impl = impl_.get(), caught_up = std::move(caught_up)]() mutable {
    impl->FreshnessBarrier(std::move(caught_up));
  });
}

void ClusterSource::Start() {
  impl_->loop.Post([impl = impl_.get()] { impl->Start(); });
}

}  // namespace berth::client

#include "service/pod_resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "kubernetes/api/requests.hpp"
#include "service/endpoints.hpp"
#include "service/negotiation.hpp"

namespace berth::service {
namespace {

// Members are in sort order.
struct Series {
  enum Label { kNamespace, kNode, kPod, kPriority, kResource, kScheduler, kUnit, kLabels };
  std::array<std::string, kLabels> labels;
  double value = 0;
};

std::string_view UnitOf(std::string_view resource) {
  if (resource == "cpu") return "cores";
  if (resource == "memory" || resource == "storage" || resource == "ephemeral-storage") return "bytes";
  if (resource.starts_with("hugepages-")) return "bytes";
  if (resource.starts_with("attachable-volumes-")) return "integer";
  return "";
}

// Amounts have a precision of 1/1000.
double Number(const api::Quantity& quantity) {
  constexpr std::int64_t kMilliFits = INT64_MAX / 1000;
  if (std::abs(quantity.Value()) >= kMilliFits) return static_cast<double>(quantity.Value());
  const std::int64_t milli = quantity.MilliValue();
  if (milli % 1000 == 0) return static_cast<double>(milli / 1000);
  return static_cast<double>(milli) * 0.001;
}

// As Go's shortest format: with an exponent from 10^6 on.
std::string NumberText(double value) {
  char buffer[512];
  const auto written =
      std::to_chars(std::begin(buffer), std::end(buffer), value, std::chars_format::scientific);
  std::string text(buffer, written.ptr);
  const int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  if (exponent < -4 || exponent >= 6) return text;
  const auto fixed = std::to_chars(std::begin(buffer), std::end(buffer), value, std::chars_format::fixed);
  return {buffer, fixed.ptr};
}

api::ResourceList Limits(const api::Pod& pod) {
  api::ResourceList limits = api::ContainerLimits(pod);
  if (pod.spec.resources) {
    for (const auto& [name, quantity] : pod.spec.resources->limits) {
      if (api::IsPodLevelResource(name)) limits.insert_or_assign(name, quantity);
    }
  }
  for (const auto& [name, quantity] : pod.spec.overhead) {
    if (const auto limit = limits.find(name); limit != limits.end() && !limit->second.IsZero()) {
      limit->second += quantity;
    }
  }
  return limits;
}

void Add(const api::Pod& pod, const api::ResourceList& amounts, std::vector<Series>& series) {
  for (const auto& [name, quantity] : amounts) {
    if (quantity.IsZero()) continue;
    series.push_back(
        {{pod.metadata.ns, pod.spec.node_name, pod.metadata.name, std::to_string(pod.spec.priority),
          std::string(name), pod.spec.scheduler_name, std::string(UnitOf(name))},
         Number(quantity)});
  }
}

std::string Escaped(const std::string& label) {
  std::string out;
  for (const char c : label) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

void Write(std::string_view what, std::string_view named, std::vector<Series>& series, std::string& out) {
  if (series.empty()) return;
  std::ranges::sort(series, {}, &Series::labels);
  out += fmt::format(
      "# HELP kube_pod_resource_{0} [STABLE] Resources {1} workloads on the cluster, broken down by pod. "
      "This "
      "shows the resource usage the scheduler and kubelet expect per pod for resources along with the unit "
      "for "
      "the resource if any.\n# TYPE kube_pod_resource_{0} gauge\n",
      what, named);
  for (const Series& one : series) {
    const auto& labels = one.labels;
    out += fmt::format(
        "kube_pod_resource_{}{{namespace=\"{}\",node=\"{}\",pod=\"{}\",priority=\"{}\",resource=\"{}\","
        "scheduler=\"{}\",unit=\"{}\"}} {}\n",
        what, labels[0], labels[1], labels[2], labels[3], Escaped(labels[4]), Escaped(labels[5]), labels[6],
        NumberText(one.value));
  }
}

}  // namespace

std::string PodResourcesText(const std::vector<api::PodPtr>& pods) {
  std::vector<Series> requests, limits;
  for (const api::PodPtr& pod : pods) {
    if (pod->terminal() && !pod->spec.node_name.empty()) continue;
    Add(*pod, api::PodRequests(*pod, {}), requests);
    Add(*pod, Limits(*pod), limits);
  }
  std::string out;
  Write("limit", "limit for", limits, out);
  Write("request", "requested by", requests, out);
  return out;
}

struct PodResources::State : std::enable_shared_from_this<State> {
  struct Waiting {
    http::Request request;
    Respond respond;
  };

  explicit State(PodSource source) : source(std::move(source)) {}

  void Serve(const http::Request& request, const Respond& respond) {
    std::scoped_lock lock(mutex);
    waiting.push_back({request, respond});
    if (std::exchange(reviewing, true)) return;
    Fetch();
  }
  void Fetch() {
    source([weak = weak_from_this()](std::vector<api::PodPtr> pods) {
      if (const auto self = weak.lock()) self->WriteFor(std::move(pods));
    });
  }
  void WriteFor(std::vector<api::PodPtr> pods) {
    std::vector<Waiting> served;
    {
      std::scoped_lock lock(mutex);
      served.swap(waiting);
    }
    writer = std::jthread([this, pods = std::move(pods), served = std::move(served)] {
      const std::string text = PodResourcesText(pods);
      for (const Waiting& one : served) one.respond(MetricsAnswer(one.request, text));
      std::scoped_lock lock(mutex);
      if (waiting.empty()) {
        reviewing = false;
      } else {
        Fetch();  // for requests that arrived while this text was written
      }
    });
  }

  const PodSource source;
  std::mutex mutex;
  std::vector<Waiting> waiting;
  bool reviewing = false;
  std::jthread writer;  // joined first
};

PodResources::PodResources(Endpoints& endpoints, std::function<bool()> leading, PodSource pods)
    : state_(std::make_shared<State>(std::move(pods))) {
  endpoints.Add("/metrics/resources",
                [weak = std::weak_ptr(state_), leading = std::move(leading)](
                    const http::Request& request, const Target&, const Respond& respond) {
                  if (!leading()) return respond(Plain(200, "", ""));
                  if (request.method == "DELETE") return respond(Plain(200, "metrics reset\n"));
                  const auto state = weak.lock();
                  if (!state) return respond(NotFound());
                  state->Serve(request, respond);
                });
}

PodResources::~PodResources() = default;

}  // namespace berth::service

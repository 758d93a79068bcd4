#include "sandbox/controllers/endpoints.hpp"

#include <algorithm>

namespace berth::sandbox {
namespace {

constexpr std::size_t kAddressesMax = 1000;
constexpr std::size_t kSliceMax = 100;
constexpr std::string_view kService = "kubernetes.io/service-name";

json::object TargetRef(const Object& pod) {
  return {{"kind", "Pod"}, {"namespace", pod.ns}, {"name", pod.name}, {"uid", pod.uid}};
}

// The labels of the service, and those of the controllers.
json::object LabelsOf(const Object& service, const json::object& spec, json::object own) {
  json::object labels;
  for (const auto& [key, value] : service.labels) labels[key] = value;
  if (FindString(spec, "clusterIP") == "None") own["service.kubernetes.io/headless"] = "";
  for (const auto& label : own) labels[label.key()] = label.value();
  return labels;
}

// The service's ports as endpoint ports; named target ports are resolved with the first pod that has them.
json::array PortsOf(const json::object& spec, const Object* pod) {
  json::array ports;
  for (const auto& value : ArrayOrEmpty(spec, "ports")) {
    if (!value.is_object()) continue;
    const json::object& service_port = value.get_object();
    json::object port;
    port["name"] = FindString(service_port, "name");
    const auto protocol = FindString(service_port, "protocol");
    port["protocol"] = protocol.empty() ? "TCP" : protocol;
    const json::value* target = Find(service_port, "targetPort");
    port["port"] = IntAt(service_port, "port");
    if (target != nullptr && target->is_int64() && target->get_int64() > 0) {
      port["port"] = *target;
    } else if (target != nullptr && target->is_string() && pod != nullptr) {
      const Document document = pod->Parse();
      for (const auto& container : ArrayOrEmpty(document.root(), "spec.containers")) {
        if (!container.is_object()) continue;
        for (const auto& named : ArrayOrEmpty(container.get_object(), "ports")) {
          if (named.is_object() &&
              FindString(named.get_object(), "name") == std::string_view(target->get_string()))
            port["port"] = IntAt(named.get_object(), "containerPort");
        }
      }
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

}  // namespace

EndpointsController::EndpointsController(ControllerContext& context)
    : Controller(context, Kinds().services, "endpoint-controller") {
  EnqueueAll();
}

void EndpointsController::OnPod(const PodFacts* before, const PodFacts* after) {
  const bool shows = (before != nullptr && before->ready) != (after != nullptr && after->ready) ||
                     (before == nullptr) != (after == nullptr) ||
                     (before != nullptr && before->object->fields[pod_field::kPodIp] !=
                                               after->object->fields[pod_field::kPodIp]) ||
                     (before != nullptr && (before->object->deleting != after->object->deleting ||
                                            before->object->labels != after->object->labels));
  if (!shows) return;
  for (const PodFacts* pod : {before, after}) {
    if (pod != nullptr) EnqueueMatching(*pod->object);
  }
}

Controller::Outcome EndpointsController::Reconcile(const ObjectPtr& service) {
  const Document document = service->Parse();
  const json::object& spec = ObjectOrEmpty(document.root(), "spec");
  if (SelectorOf(*service) == nullptr || FindString(spec, "type") == "ExternalName") return {};
  std::size_t objects_read = 0;
  const bool all_ready = BoolAt(spec, "publishNotReadyAddresses");
  const std::vector<Backend> backends = BackendsOf(*service, all_ready, objects_read);
  WriteEndpoints(*service, spec, backends);
  WriteSlices(*service, spec, backends);
  return {.objects_read = objects_read};
}

void EndpointsController::OnGone(const std::string& key) {
  const auto slash = key.find('/');
  if (slash == std::string::npos) return;
  if (context_.store().Get(Kinds().endpoints, key))
    (void)context_.verbs.Delete({Kinds().endpoints, key.substr(0, slash), key.substr(slash + 1)}, {});
}

std::vector<EndpointsController::Backend> EndpointsController::BackendsOf(const Object& service,
                                                                          bool all_ready,
                                                                          std::size_t& objects_read) const {
  const LabelSelector* selector = SelectorOf(service);
  std::vector<Backend> backends, leaving;
  context_.view.ForEachIn(service.ns, [&](const PodFacts& pod) {
    ++objects_read;
    const std::string& ip = pod.object->fields[pod_field::kPodIp];  // status.podIP
    if (ip.empty() || pod.terminal() || !selector->Matches(*pod.object)) return;
    const bool terminating = pod.object->deleting;
    (terminating ? leaving : backends)
        .push_back({.pod = pod.object,
                    .ip = ip,
                    .node = pod.node(),
                    .ready = all_ready || (pod.ready && !terminating),
                    .serving = pod.ready,
                    .terminating = terminating});
  });
  backends.insert(backends.end(), leaving.begin(), leaving.end());
  return backends;
}

void EndpointsController::WriteEndpoints(const Object& service, const json::object& spec,
                                         const std::vector<Backend>& backends) {
  json::array ready, not_ready;
  for (const auto& backend : backends) {
    // Terminating pods are last; publishNotReadyAddresses includes them.
    if ((backend.terminating && !backend.ready) || ready.size() + not_ready.size() >= kAddressesMax) break;
    (backend.ready ? ready : not_ready)
        .push_back(json::object{
            {"ip", backend.ip}, {"nodeName", backend.node}, {"targetRef", TargetRef(*backend.pod)}});
  }
  json::array subsets;
  if (!ready.empty() || !not_ready.empty()) {
    json::object subset;
    if (!ready.empty()) subset["addresses"] = std::move(ready);
    if (!not_ready.empty()) subset["notReadyAddresses"] = std::move(not_ready);
    subset["ports"] = PortsOf(spec, backends.front().pod.get());
    subsets.push_back(std::move(subset));
  }
  const json::object labels =
      LabelsOf(service, spec, {{"endpoints.kubernetes.io/managed-by", "endpoint-controller"}});
  const Place place{Kinds().endpoints, service.ns, service.name};
  const ObjectPtr present = context_.store().Get(place.type, place.key());
  if (present) {
    const Document document = present->Parse();
    if (ArrayOrEmpty(document.root(), "subsets") == subsets &&
        ObjectOrEmpty(document.root(), "metadata.labels") == labels)
      return;
    context_.verbs.Rewrite(place, present->uid, [&](json::object& root) {
      ObjectAt(root, "metadata")["labels"] = labels;
      if (subsets.empty())
        root.erase("subsets");
      else
        root["subsets"] = subsets;
      if (std::ranges::count(backends, false, &Backend::terminating) >
          static_cast<std::ptrdiff_t>(kAddressesMax))
        ObjectAt(ObjectAt(root, "metadata"), "annotations")["endpoints.kubernetes.io/over-capacity"] =
            "truncated";
    });
    return;
  }
  Document document;
  document.root()["metadata"] = json::object{{"name", service.name}, {"labels", labels}};
  if (!subsets.empty()) document.root()["subsets"] = std::move(subsets);
  (void)context_.verbs.Create(place.type, place.ns,
                              std::move(document));  // fails if the namespace is terminating
}

// Slices are stable: slice i contains the i-th hundred of the pods.
void EndpointsController::WriteSlices(const Object& service, const json::object& spec,
                                      const std::vector<Backend>& backends) {
  std::vector<ObjectPtr> slices = context_.view.DependentsOf(service.uid, Kinds().endpoint_slices);
  const std::size_t wanted = std::max<std::size_t>((backends.size() + kSliceMax - 1) / kSliceMax, 1);
  const json::object labels =
      LabelsOf(service, spec,
               {{"endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"},
                {kService, service.name}});
  for (std::size_t i = 0; i < wanted; ++i) {
    json::array endpoints;
    for (std::size_t j = i * kSliceMax; j < std::min(backends.size(), (i + 1) * kSliceMax); ++j) {
      const Backend& backend = backends[j];
      json::object endpoint{{"addresses", json::array{json::value(backend.ip)}},
                            {"conditions", json::object{{"ready", backend.ready},
                                                        {"serving", backend.serving},
                                                        {"terminating", backend.terminating}}},
                            {"targetRef", TargetRef(*backend.pod)},
                            {"nodeName", backend.node}};
      const ObjectPtr node = context_.store().Get(Known().nodes, backend.node);
      const std::string* zone = node ? node->Label("topology.kubernetes.io/zone") : nullptr;
      if (zone != nullptr) endpoint["zone"] = *zone;
      endpoints.push_back(std::move(endpoint));
    }
    const json::array ports = backends.empty() ? json::array() : PortsOf(spec, backends.front().pod.get());
    if (i < slices.size()) {
      const Document document = slices[i]->Parse();
      if (ArrayOrEmpty(document.root(), "endpoints") == endpoints &&
          ArrayOrEmpty(document.root(), "ports") == ports &&
          ObjectOrEmpty(document.root(), "metadata.labels") == labels)
        continue;
      context_.verbs.Rewrite(PlaceOf(*slices[i]), slices[i]->uid, [&](json::object& root) {
        root["endpoints"] = endpoints;
        root["ports"] = ports;
        ObjectAt(root, "metadata")["labels"] = labels;
        ObjectAt(root, "metadata")["generation"] = IntAt(root, "metadata.generation", 1) + 1;
      });
      continue;
    }
    Document document;
    document.root()["metadata"] = json::object{{"generateName", service.name + "-"},
                                               {"labels", labels},
                                               {"ownerReferences", json::array{ControllerRef(service)}}};
    document.root()["addressType"] = "IPv4";
    document.root()["endpoints"] = std::move(endpoints);
    document.root()["ports"] = ports;
    (void)context_.verbs.Create(Kinds().endpoint_slices, service.ns, std::move(document));
  }
  for (std::size_t i = wanted; i < slices.size(); ++i) (void)context_.verbs.Delete(PlaceOf(*slices[i]), {});
}

}  // namespace berth::sandbox

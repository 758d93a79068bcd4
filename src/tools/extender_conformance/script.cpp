#include "tools/extender_conformance/script.hpp"

#include <fmt/format.h>

#include "base/json_text.hpp"

namespace berth::extender_conformance {
namespace {

// A node's JSON with another name and a list of images, so that it has a realistic size.
std::string LargeNode(std::string_view name) {
  std::string text = fmt::format(
      "{{\"metadata\":{{\"name\":\"{}\",\"uid\":\"u-{}\"}},\"spec\":{{}},\"status\":{{\"allocatable\":"
      "{{\"cpu\":\"8\",\"memory\":\"16Gi\",\"pods\":\"110\"}},\"images\":[",
      name, name);
  for (int i = 0; i < 50; ++i) {
    text += fmt::format(
        "{}{{\"names\":[\"registry.example/team/image-{}@sha256:{:064x}\",\"registry.example/"
        "team/image-{}:v1.{}\"],\"sizeBytes\":{}}}",
        i == 0 ? "" : ",", i, i, i, i, 1000000 + i);
  }
  return text + "]}}";
}

class Script {
 public:
  Script(const Plan& plan, const Cluster& cluster, ExtenderConnection& connection, const Clock& clock,
         const std::function<void(const CaseResult&)>& on_result)
      : plan_(plan), cluster_(cluster), connection_(connection), clock_(clock), on_result_(on_result) {
    for (const Cluster::Node& node : cluster.nodes) names_.push_back(node.name);
    for (std::size_t i = 0; i < plan.many; ++i) many_.push_back(fmt::format("berth-check-{:05}", i));
  }

  void Run() {
    if (!plan_.filter.empty()) RunFilterCases();
    if (!plan_.prioritize.empty()) RunPrioritizeCases();
    if (!plan_.preempt.empty()) RunPreemptCases();
    if (!plan_.bind.empty()) {
      Case(
          "bind: a pod that does not exist", plan_.bind,
          R"({"PodName":"berth-check-no-such-pod","PodNamespace":"default","PodUID":"00000000-0000-0000-0000-000000000000","Node":"berth-check-no-such-node"})",
          &CheckRefusedBinding);
    }
    RunWireCases();
  }

 private:
  // {"Pod":...,"Nodes":...,"NodeNames":...} with additional fields at the end.
  std::string RequestBody(std::string_view nodes, std::string_view names, std::string_view more = "") const {
    return fmt::format("{{\"Pod\":{},\"Nodes\":{},\"NodeNames\":{}{}}}", cluster_.pod, nodes, names, more);
  }
  static std::string List(const std::vector<std::string>& names) {
    std::string out = "[";
    for (const std::string& name : names) {
      if (out.size() > 1) out += ',';
      AppendGoJsonString(out, name);
    }
    return out + "]";
  }
  std::string ByName(const std::vector<std::string>& names, std::string_view more = "") const {
    return RequestBody("null", List(names), more);
  }
  std::string Whole(const std::vector<std::string>& texts) const {
    std::string list = "{\"metadata\":{},\"items\":";
    if (texts.empty()) return RequestBody(list + "null}", "null");
    for (std::size_t i = 0; i < texts.size(); ++i) list += (i == 0 ? "[" : ",") + texts[i];
    return RequestBody(list + "]}", "null");
  }
  std::vector<std::string> Texts() const {
    std::vector<std::string> texts;
    for (const Cluster::Node& node : cluster_.nodes) texts.push_back(node.json);
    return texts;
  }

  template <class CheckReply>
  void Case(std::string name, const std::string& verb, const std::string& body, CheckReply&& check) {
    const MonoTime began = clock_.Now();
    const std::vector<ReplyOrError> replies = connection_.SendAll(verb, {body});
    const Duration duration = clock_.Now() - began;
    Finding finding = check(replies.front());
    Slow(duration, finding);
    on_result_({std::move(name), std::move(finding), duration});
  }
  void Slow(Duration duration, Finding& finding) const {
    if (finding.result == Result::kWrong || plan_.timeout <= Duration::zero() || duration * 2 < plan_.timeout)
      return;
    finding.Warn(
        fmt::format("took {:.2f} s, more than half of the time-out; no other pod is scheduled "
                    "meanwhile",
                    std::chrono::duration<double>(duration).count()));
  }

  void RunFilterCases() {
    const auto filter = [](const std::vector<std::string>& requested, bool whole) {
      return [requested, whole](const ReplyOrError& reply) { return CheckFilter(reply, requested, whole); };
    };
    const std::string& verb = plan_.filter;
    if (plan_.names) {
      Case("filter: names", verb, ByName(names_), filter(names_, false));
      Case("filter: one name", verb, ByName({names_.front()}), filter({names_.front()}, false));
      Case("filter: no names", verb, ByName({}), filter({}, false));
      const std::vector<std::string> ghosts{"berth-check-ghost", names_.front()};
      Case("filter: a node that it has not received yet", verb, ByName(ghosts), filter(ghosts, false));
      Case(fmt::format("filter: {} names", many_.size()), verb, ByName(many_), filter(many_, false));
      Case("filter: fields of later releases", verb,
           ByName(names_, R"(,"Later":{"deep":[1,{"x":null}]},"AndMore":7)"), filter(names_, false));
    }
    if (!plan_.whole) return;
    Case("filter: whole nodes", verb, Whole(Texts()), filter(names_, true));
    Case("filter: no whole nodes", verb, Whole({}), filter({}, true));
    const std::vector<std::string> some(many_.begin(),
                                        many_.begin() + static_cast<std::ptrdiff_t>(many_.size() / 5));
    std::vector<std::string> texts;
    for (const std::string& name : some) texts.push_back(LargeNode(name));
    Case(fmt::format("filter: {} whole nodes", some.size()), verb, Whole(texts), filter(some, true));
  }

  void RunPrioritizeCases() {
    const auto scores = [](const std::vector<std::string>& requested) {
      return [requested](const ReplyOrError& reply) { return CheckPrioritize(reply, requested); };
    };
    const std::string& verb = plan_.prioritize;
    if (plan_.names) {
      Case("prioritize: names", verb, ByName(names_), scores(names_));
      Case(fmt::format("prioritize: {} names", many_.size()), verb, ByName(many_), scores(many_));
    }
    if (plan_.whole) Case("prioritize: whole nodes", verb, Whole(Texts()), scores(names_));
  }

  void RunPreemptCases() {
    std::vector<RequestedVictims> requested;
    std::string meta, whole;
    for (const std::string& name : names_) {
      const std::string uid = fmt::format("berth-check-victim-{}", name);
      requested.push_back({name, {uid}});
      std::string key;
      AppendGoJsonString(key, name);
      const std::string_view comma = meta.empty() ? "" : ",";
      meta += fmt::format(R"({}{}:{{"Pods":[{{"UID":"{}"}}],"NumPDBViolations":0}})", comma, key, uid);
      whole += fmt::format(
          R"({}{}:{{"Pods":[{{"metadata":{{"name":"v","namespace":"default","uid":"{}"}},"spec":{{"nodeName":{},"containers":[{{"name":"c","image":"i"}}]}},"status":{{}}}}],"NumPDBViolations":0}})",
          comma, key, uid, key);
    }
    const auto check = [&](const ReplyOrError& reply) { return CheckPreempt(reply, requested); };
    if (plan_.names) {
      Case("preempt: victims by UID", plan_.preempt,
           fmt::format(R"({{"Pod":{},"NodeNameToVictims":null,"NodeNameToMetaVictims":{{{}}}}})",
                       cluster_.pod, meta),
           check);
    }
    if (plan_.whole) {
      Case("preempt: whole victims", plan_.preempt,
           fmt::format(R"({{"Pod":{},"NodeNameToVictims":{{{}}},"NodeNameToMetaVictims":null}})",
                       cluster_.pod, whole),
           check);
    }
  }

  // Cases that do not depend on the verb; they use the first verb that is offered.
  void RunWireCases() {
    const bool filters = !plan_.filter.empty();
    const std::string& verb = filters                     ? plan_.filter
                              : !plan_.prioritize.empty() ? plan_.prioritize
                                                          : plan_.preempt;
    if (verb.empty()) return;
    Case("wire: no JSON", verb, "{\"Pod\":{\"metadata\":", &CheckInvalidRequest);
    Case("wire: nothing", verb, "", &CheckInvalidRequest);
    RunMethodCase(verb);
    if (!filters && plan_.prioritize.empty()) return;
    const std::string body = plan_.names ? ByName(names_) : Whole(Texts());
    const auto check = [&](const ReplyOrError& reply) {
      return filters ? CheckFilter(reply, names_, !plan_.names) : CheckPrioritize(reply, names_);
    };
    RunKeepAliveCase(verb, body);
    const MonoTime began = clock_.Now();
    const auto replies = connection_.SendAll(verb, std::vector<std::string>(plan_.at_once, body));
    const Duration duration = clock_.Now() - began;
    Finding finding;
    for (const ReplyOrError& reply : replies) {
      const Finding one = check(reply);
      if (one.result > finding.result) finding = one;
    }
    Slow(duration, finding);
    on_result_({fmt::format("wire: {} requests in parallel", plan_.at_once), std::move(finding), duration});
  }

  void RunMethodCase(const std::string& verb) {
    const MonoTime began = clock_.Now();
    const auto bare = connection_.SendRaw("GET", verb, "");
    Finding finding;
    if (!bare) {
      finding.Warn(fmt::format("GET: {}", bare.error().message));
    } else if (bare->status < 400 || bare->status >= 500) {
      finding.Warn(
          fmt::format("the response to GET has status {}: after a redirect with 301, 302 or 303, "
                      "kube-scheduler's request arrives as a GET without its body; expected 405",
                      bare->status));
    }
    on_result_({"wire: GET", std::move(finding), clock_.Now() - began});
  }

  void RunKeepAliveCase(const std::string& verb, const std::string& body) {
    const MonoTime began = clock_.Now();
    Finding finding;
    for (int i = 0; i < 2; ++i) {
      const auto bare = connection_.SendRaw("POST", verb, body);
      if (!bare) {
        finding.Wrong(fmt::format("POST: {}", bare.error().message));
      } else if (bare->closes && i == 0) {
        finding.Warn("the connection is closed after each response: every request needs a new one");
      }
    }
    on_result_({"wire: a second request on the same connection", std::move(finding), clock_.Now() - began});
  }

  const Plan& plan_;
  const Cluster& cluster_;
  ExtenderConnection& connection_;
  const Clock& clock_;
  const std::function<void(const CaseResult&)>& on_result_;
  std::vector<std::string> names_;
  std::vector<std::string> many_;
};

}  // namespace

Cluster SyntheticCluster(const std::string& resource) {
  Cluster cluster;
  for (const char* name : {"berth-check-a", "berth-check-b", "berth-check-c"})
    cluster.nodes.push_back({name, LargeNode(name)});
  const std::string managed = resource.empty() ? "" : fmt::format(",\"{}\":\"1\"", resource);
  cluster.pod = fmt::format(
      R"({{"metadata":{{"name":"berth-check","namespace":"default","uid":"berth-check-pod"}},"spec":{{"schedulerName":"default-scheduler","containers":[{{"name":"c","image":"registry.example/app:v1","resources":{{"limits":{{"cpu":"100m"{0}}},"requests":{{"cpu":"100m"{0}}}}}}}]}},"status":{{"phase":"Pending"}}}})",
      managed);
  return cluster;
}

void Play(const Plan& plan, const Cluster& cluster, ExtenderConnection& connection, const Clock& clock,
          const std::function<void(const CaseResult&)>& on_result) {
  Script(plan, cluster, connection, clock, on_result).Run();
}

}  // namespace berth::extender_conformance

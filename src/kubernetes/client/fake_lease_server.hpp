// An API server for tests that stores one Lease and responds by itself.
#pragma once

#include <fmt/format.h>

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kubernetes/client/fake_api.hpp"
#include "kubernetes/client/lease_record.hpp"

namespace berth::client {

// Checks resource versions as a real server does: a PUT with an outdated one is a conflict.
class FakeLeaseServer {
 public:
  // Responds to all pending calls except watches, in order; true if there was any.
  bool Serve(FakeApi& api) {
    bool any = false;
    for (auto call = Take(api); call && !down; call = Take(api)) {
      any = true;
      const std::string what = call->request.method;
      requests.push_back(what + " " + call->request.path.substr(0, call->request.path.find('?')));
      last_body = call->request.body;
      Reply reply = Handle(call->request);
      if (lose_answers) reply = AnswerLost();
      call->done(std::move(reply));
    }
    return any;
  }

  LeaseRecord record() const { return Lease::Parse(*document)->record(); }
  // Another client writes the Lease.
  void Set(const LeaseRecord& record) {
    Store(document ? Lease::Parse(*document)->With(record)
                   : Lease::Fresh("kube-system", "kube-scheduler").With(record));
  }
  // The watch event for the current Lease.
  std::string Event() const { return fmt::format(R"({{"type":"MODIFIED","object":{}}})", *document); }

  std::optional<std::string> document{};
  std::vector<std::string> requests{};
  std::string last_body{};
  bool down = false;          // no responses are sent
  bool lose_answers = false;  // writes take effect, but their responses are lost
  int conflicts = 0;          // the number of PUTs to reject with a conflict

 private:
  static std::optional<FakeApi::Call> Take(FakeApi& api) {
    for (auto call = api.open.begin(); call != api.open.end(); ++call) {
      if (call->watch) continue;
      FakeApi::Call taken = std::move(*call);
      api.open.erase(call);
      return taken;
    }
    return std::nullopt;
  }
  Reply Handle(const ApiRequest& request) {
    if (request.method == "GET") return document ? Reply(*document) : Refused(404, "NotFound");
    if (request.method == "POST") {
      if (document) return Refused(409, "AlreadyExists");
      return Store(request.body);
    }
    if (conflicts > 0) {
      --conflicts;
      return Refused(409, "Conflict");
    }
    if (!document) return Refused(404, "NotFound");
    const bool newest =
        Lease::Parse(request.body)->resource_version() == Lease::Parse(*document)->resource_version();
    return newest ? Store(request.body) : Refused(409, "Conflict");
  }
  std::string Store(const std::string& body) {
    boost::json::value value = boost::json::parse(body);
    auto& metadata = value.as_object()["metadata"].as_object();
    metadata["resourceVersion"] = std::to_string(++version_);
    metadata["uid"] = "lease-uid";
    document = boost::json::serialize(value);
    return *document;
  }

  int version_ = 0;
};

}  // namespace berth::client

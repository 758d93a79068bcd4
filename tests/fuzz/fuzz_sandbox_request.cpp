// The sandbox's API server answers every request, with JSON where the content type promises it, and
// continues.
#include "sandbox/cluster/test_cluster.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace berth::sandbox;
using berth::fuzz::Require;

constexpr std::string_view kMethods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"};
constexpr std::string_view kTypes[] = {"application/json",
                                       "application/yaml",
                                       "application/vnd.kubernetes.protobuf",
                                       "application/merge-patch+json",
                                       "application/strategic-merge-patch+json",
                                       "application/json-patch+json",
                                       "application/apply-patch+yaml",
                                       "text/plain"};
constexpr std::string_view kAccepts[] = {"application/json", "application/json;as=Table;v=v1;g=meta.k8s.io",
                                         "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
                                         "application/vnd.kubernetes.protobuf,application/json", "nothing"};

std::size_t Choice(const std::string& line, std::size_t count) {
  std::size_t sum = 0;
  for (const char c : line) sum = sum * 31 + static_cast<unsigned char>(c);
  return sum % count;
}

void CheckAnswer(const RecordedResponse& response) {
  Require(response.answered, "every request is answered");
  Require(response.status >= 200 && response.status < 600, "with a status of HTTP");
  if (response.content_type != "application/json" || response.text.empty()) return;
  boost::system::error_code error;
  json::parse_options options;
  options.max_depth = 300;
  const json::value body = json::parse(response.text, error, {}, options);
  Require(!error, "what is called JSON is JSON");
  if (response.status >= 400) {
    Require(body.is_object() && FindString(body.get_object(), "kind") == "Status", "errors are Statuses");
    Require(At(body, "code") == std::to_string(response.status), "whose code is the answer's");
  }
}

}  // namespace

// Requests of four lines each: method, target, media types, body.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto lines = berth::fuzz::Lines(berth::fuzz::Text(data, size));
  TestCluster cluster(20);
  cluster.CreatePod("web", "", R"("labels":{"app":"web"})");
  cluster.Create("/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"a"},"data":{"k":"v"}})");
  for (std::size_t i = 0; i + 3 < lines.size() && i < 40; i += 4) {
    const auto response =
        cluster.Open(std::string(kMethods[Choice(lines[i], std::size(kMethods))]), lines[i + 1], lines[i + 3],
                     std::string(kTypes[Choice(lines[i + 2], std::size(kTypes))]),
                     std::string(kAccepts[Choice(lines[i + 2], std::size(kAccepts))]));
    if (!response->answered) cluster.Pass(std::chrono::seconds(4));  // waits for a version
    CheckAnswer(*response);
  }
  Require(cluster.Get("/api/v1/namespaces/default").status == 200, "and the server goes on");
  return 0;
}

// A cluster from a file of plain Kubernetes objects.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "sandbox/apiserver/verbs.hpp"

namespace berth::sandbox {

struct LoadReport {
  std::size_t objects = 0;
  std::map<std::string, std::size_t> skipped;  // "example.com/v1 Widget" -> how many; kinds unknown here
  std::size_t lost_owners = 0;                 // references to owners that the file does not have, removed
  std::size_t made_namespaces = 0;             // that objects are in but the file does not have
};

// JSON or YAML, one or many documents, Lists: what kubectl prints. All or nothing: the error names every
// document, field and value that is wrong (the first ten), and nothing has been stored.
//
// Objects that come from a server (they have a uid) keep uid, creationTimestamp, status and everything else;
// only resourceVersion is new. Others are created as if by a client, and then get the status that the file
// gives them. The order of the documents does not matter. An object that exists already is replaced. Nodes
// that are not Ready get the annotation of a failure (nodes/node_failure.hpp), or their kubelets would mend
// them at once.
Expected<LoadReport> LoadObjects(Verbs& verbs, std::string_view text);

}  // namespace berth::sandbox

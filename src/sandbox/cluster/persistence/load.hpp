// Imports a cluster from a file of plain Kubernetes objects.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "sandbox/apiserver/verbs.hpp"

namespace berth::sandbox {

struct LoadReport {
  std::size_t objects = 0;
  std::map<std::string, std::size_t> skipped;  // "example.com/v1 Widget" -> count; kinds unknown here
  std::size_t lost_owners = 0;                 // removed owner references whose owner is not in the file
  std::size_t made_namespaces = 0;  // created namespaces that objects use but the file does not contain
};

// JSON or YAML, one or many documents, Lists: the output formats of kubectl. All or nothing: an error lists
// the documents, fields and values that are wrong (the first ten), and nothing is stored.
//
// Objects that come from a server (they have a uid) keep uid, creationTimestamp, status and everything else;
// only resourceVersion is new. Others are created as if by a client, and then get the status from the file.
// The order of the documents is irrelevant. An object that exists already is replaced. Nodes that are not
// Ready get the annotation of a failure (nodes/node_failure.hpp): without it their kubelets would set them to
// Ready immediately.
Expected<LoadReport> LoadObjects(Verbs& verbs, std::string_view text);

}  // namespace berth::sandbox

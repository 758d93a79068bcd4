// NodeResourceTopologies from JSON.
#include "kubernetes/api/json_reader.hpp"

namespace berth::api::json {

bool Read(const element& value, NodeResourceTopology::Attribute& out, Failure& failure) {
  return ReadFields(value, failure, Field{"name", out.name}, Field{"value", out.value});
}

bool Read(const element& value, NodeResourceTopology::Cost& out, Failure& failure) {
  return ReadFields(value, failure, Field{"name", out.name}, Field{"value", out.value});
}

bool Read(const element& value, NodeResourceTopology::Resource& out, Failure& failure) {
  return ReadFields(value, failure, Field{"name", out.name}, Field{"available", out.available});
}

bool Read(const element& value, NodeResourceTopology::Zone& out, Failure& failure) {
  return ReadFields(value, failure, Field{"name", out.name}, Field{"type", out.type},
                    Field{"costs", out.costs}, Field{"resources", out.resources});
}

bool Read(const element& value, NodeResourceTopology& out, Failure& failure) {
  return ReadFields(value, failure, Field{"metadata", out.metadata},
                    Field{"topologyPolicies", out.topology_policies}, Field{"attributes", out.attributes},
                    Field{"zones", out.zones});
}

}  // namespace berth::api::json

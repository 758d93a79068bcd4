// ElasticQuotas from JSON.
#include "kubernetes/api/json_reader.hpp"

namespace berth::api::json {

bool Read(const element& value, ElasticQuota& out, Failure& failure) {
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"min", out.min}, Field{"max", out.max});
  };
  return ReadFields(value, failure, Field{"metadata", out.metadata}, Field{"spec", spec});
}

}  // namespace berth::api::json

// Groups of other projects from JSON.
#include "kubernetes/api/json_reader.hpp"

namespace berth::api::json {

bool Read(const element& value, CoschedulingPodGroup& out, Failure& failure) {
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"minMember", out.min_member}, Field{"minResources", out.min_resources},
                      Field{"scheduleTimeoutSeconds", out.schedule_timeout_seconds});
  };
  return ReadFields(value, failure, Field{"metadata", out.metadata}, Field{"spec", spec});
}

bool Read(const element& value, VolcanoPodGroup& out, Failure& failure) {
  const auto tasks = [&](const element& member, Failure& f) {
    return ReadObject(member, f, [&](std::string_view task, const element& count) {
      return Read(count, out.min_task_member.emplace_back(std::string(task)).min_count, f);
    });
  };
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"minMember", out.min_member}, Field{"minResources", out.min_resources},
                      Field{"minTaskMember", tasks});
  };
  return ReadFields(value, failure, Field{"metadata", out.metadata}, Field{"spec", spec});
}

bool Read(const element& value, Job& out, Failure& failure) {
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"parallelism", out.parallelism},
                      Field{"completions", out.completions});
  };
  const auto status = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"succeeded", out.succeeded});
  };
  return ReadFields(value, failure, Field{"metadata", out.metadata}, Field{"spec", spec},
                    Field{"status", status});
}

}  // namespace berth::api::json

// The form in which a recording has inputs that are not objects of the API: the results of queries for load
// measurements, and the groups of other projects. One line of JSON each; reading it gives an equal value.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "base/result.hpp"
#include "kubernetes/api/pod_group.hpp"
#include "scheduler/cycle/loop_journal.hpp"
#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::recording {

//   {"signal":3,"at":NANOSECONDS,"renumbered":true,"fresh":[["node","n1"],...],"samples":[0,"0.25",...]}
//   {"signal":3,"at":NANOSECONDS,"error":"connection refused"}
// A new series is a list of its labels and their values; a sample is the number of its series and its value.
// Values are texts, because readers of JSON round numbers.
void AppendPollResult(std::string& out, const load_metrics::PollResult& result);
// Errors name the member.
Expected<load_metrics::PollResult> ReadPollResult(const boost::json::value& value);

// The origin of the work that passes the result to the scheduler.
cycle::Origin OriginOf(const load_metrics::PollResult& result);

//   {"min":3,"tasks":["worker",2],"minResources":["cpu","4"],"permitTimeout":60,"invalid":"..."}
// Members without a value are left out. `group.external` must not be null.
void AppendExternal(std::string& out, const api::PodGroup& group);
// Sets gang and external of the group. Errors name the member.
Expected<void> ReadExternal(const boost::json::value& value, api::PodGroup& group);

}  // namespace berth::recording

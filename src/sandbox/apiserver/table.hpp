// Tables: the server-side columns of kubectl.
#pragma once

#include "base/clock.hpp"
#include "sandbox/apiserver/request.hpp"

namespace berth::sandbox {

// The columns of `kubectl get`; the columns of -o wide have priority 1.
const json::array& TableColumns(const ResourceType& type);

// One row: the cells, and as much of the object as the view includes.
json::object TableRow(const View& view, const Object& object, WallTime now);

// {"kind":"Table",...} with the given rows, which are already serialised and separated by commas. All events
// of a watch but the first omit the columns.
std::string TableText(const ResourceType& type, std::string_view list_metadata, std::string_view rows,
                      bool with_columns);

// "5s", "2m30s", "3h": an age in kubectl's format. "0s" for up to two seconds in the future, "<invalid>"
// beyond.
std::string HumanAge(Duration age);

}  // namespace berth::sandbox

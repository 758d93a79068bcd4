// Tables: how kubectl gets its columns from the server.
#pragma once

#include "base/clock.hpp"
#include "sandbox/apiserver/request.hpp"

namespace berth::sandbox {

// The columns of `kubectl get`, the wide ones with priority 1.
const json::array& TableColumns(const ResourceType& type);

// One row: the cells, and as much of the object as the view includes.
json::object TableRow(const View& view, const Object& object, WallTime now);

// {"kind":"Table",...} with the given rows already serialised and separated by commas. Without columns for
// all but the first event of a watch.
std::string TableText(const ResourceType& type, std::string_view list_metadata, std::string_view rows,
                      bool with_columns);

// "5s", "2m30s", "3h": how long ago, as kubectl prints it.
std::string HumanAge(Duration age);

}  // namespace berth::sandbox

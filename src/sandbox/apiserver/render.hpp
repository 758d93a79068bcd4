// Converts stored objects to the representation that a client requested.
#pragma once

#include "base/clock.hpp"
#include "sandbox/apiserver/request.hpp"

namespace berth::sandbox {

// One object as a complete response, or as the object of a watch event; no newline. Shares the stored text if
// the view allows it. `with_columns` applies to tables.
SharedText RenderObject(const View& view, const ObjectPtr& object, WallTime now, bool with_columns = true);

// The metadata of a list.
struct ListMetadata {
  Version version = 0;
  std::string continue_token;
  std::optional<std::size_t> remaining;

  std::string ToJson() const;
};

// A whole list, ending in a newline.
std::string RenderList(const View& view, const std::vector<ObjectPtr>& objects, const ListMetadata& metadata,
                       WallTime now);

// The object of a BOOKMARK event.
std::string RenderBookmark(const View& view, Version version, bool initial_events_end);

}  // namespace berth::sandbox

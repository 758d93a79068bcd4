// Visits the objects of a list together with their field paths.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "sandbox/store/document.hpp"

namespace berth::sandbox {

// Calls visit(element, "<path>.<list>[i]") for each element that is an object.
template <class Visit>
void ForEachElement(const json::object& parent, std::string_view list, const std::string& path,
                    Visit&& visit) {
  const json::array* elements = FindArray(parent, list);
  for (std::size_t i = 0; elements != nullptr && i < elements->size(); ++i) {
    if ((*elements)[i].is_object())
      visit((*elements)[i].get_object(), fmt::format("{}.{}[{}]", path, list, i));
  }
}

}  // namespace berth::sandbox

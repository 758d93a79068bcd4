#include "sandbox/apiserver/render.hpp"

#include <fmt/format.h>

#include "sandbox/apiserver/events.hpp"
#include "sandbox/apiserver/table.hpp"

namespace berth::sandbox {
namespace {

std::string MetadataOnly(const Object& object) {
  const Document document = object.Parse();
  return fmt::format(R"({{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{}}})",
                     json::serialize(document.root().at("metadata")));
}

// A list of unchanged objects. Most response bytes come from here, so nothing is parsed.
std::string PlainList(const View& view, const std::vector<ObjectPtr>& objects, const ListMetadata& metadata) {
  std::string text = fmt::format(R"({{"kind":"{}List","apiVersion":"{}","metadata":{},"items":[)",
                                 view.type->kind, view.group_version(), metadata.ToJson());
  std::size_t size = text.size() + 8;
  for (const auto& object : objects) size += object->text.size();
  text.reserve(size);
  bool first = true;
  for (const auto& object : objects) {
    if (!std::exchange(first, false)) text += ',';
    text += '{';
    text += object->item_tail();
  }
  return text += "]}\n";
}

}  // namespace

SharedText RenderObject(const View& view, const ObjectPtr& object, WallTime now, bool with_columns) {
  switch (view.shape) {
    case View::Shape::kObject:
      return view.events_group ? ShareText(EventsGroupText(*object)) : TextOf(object);
    case View::Shape::kMetadata:
      return ShareText(MetadataOnly(*object));
    case View::Shape::kTable:
      break;
  }
  const ListMetadata metadata{.version = object->version, .continue_token = {}, .remaining = {}};
  return ShareText(
      TableText(*view.type, metadata.ToJson(), json::serialize(TableRow(view, *object, now)), with_columns));
}

std::string ListMetadata::ToJson() const {
  std::string text = fmt::format(R"({{"resourceVersion":"{}")", version);
  if (!continue_token.empty()) text += fmt::format(R"(,"continue":"{}")", continue_token);
  if (remaining) text += fmt::format(R"(,"remainingItemCount":{})", *remaining);
  return text + "}";
}

std::string RenderList(const View& view, const std::vector<ObjectPtr>& objects, const ListMetadata& metadata,
                       WallTime now) {
  if (view.shape == View::Shape::kObject && !view.events_group) return PlainList(view, objects, metadata);
  std::string items;
  for (const auto& object : objects) {
    if (!items.empty()) items += ',';
    items += view.shape == View::Shape::kTable ? json::serialize(TableRow(view, *object, now))
                                               : *RenderObject(view, object, now);
  }
  if (view.shape == View::Shape::kTable) return TableText(*view.type, metadata.ToJson(), items, true) + "\n";
  if (view.shape == View::Shape::kMetadata) {
    return fmt::format(
        R"({{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":{}}})"
        "\n",
        metadata.ToJson(), items.empty() ? "null" : "[" + items + "]");
  }
  return fmt::format(R"({{"kind":"{}List","apiVersion":"{}","metadata":{},"items":[{}]}})"
                     "\n",
                     view.type->kind, view.group_version(), metadata.ToJson(), items);
}

std::string RenderBookmark(const View& view, Version version, bool initial_events_end) {
  json::object metadata{{"resourceVersion", fmt::to_string(version)}};
  if (initial_events_end) metadata["annotations"] = json::object{{"k8s.io/initial-events-end", "true"}};
  if (view.shape == View::Shape::kTable) {
    const json::object row{{"cells", json::array()},
                           {"object", json::object{{"kind", "PartialObjectMetadata"},
                                                   {"apiVersion", "meta.k8s.io/v1"},
                                                   {"metadata", metadata}}}};
    return TableText(*view.type, fmt::format(R"({{"resourceVersion":"{}"}})", version), json::serialize(row),
                     false);
  }
  const bool partial = view.shape == View::Shape::kMetadata;
  return json::serialize(json::object{{"kind", partial ? "PartialObjectMetadata" : view.type->kind},
                                      {"apiVersion", partial ? "meta.k8s.io/v1" : view.group_version()},
                                      {"metadata", metadata}});
}

}  // namespace berth::sandbox

#include "sandbox/apiserver/apply/field_set.hpp"

namespace berth::sandbox {

bool FieldSet::Prune() {
  for (auto it = below.begin(); it != below.end();) it = it->second.Prune() ? below.erase(it) : std::next(it);
  return empty();
}

void FieldSet::Add(const FieldSet& other) {
  member = member || other.member;
  for (const auto& [element, branch] : other.below) below[element].Add(branch);
}

FieldSet FieldSet::And(const FieldSet& other) const {
  FieldSet both;
  both.member = member && other.member;
  for (const auto& [element, branch] : below) {
    const auto found = other.below.find(element);
    if (found == other.below.end()) continue;
    if (FieldSet common = branch.And(found->second); !common.empty())
      both.below.emplace(element, std::move(common));
  }
  return both;
}

FieldSet FieldSet::Without(const FieldSet& other) const {
  FieldSet rest;
  rest.member = member && !other.member;
  for (const auto& [element, branch] : below) {
    const auto found = other.below.find(element);
    FieldSet left = found == other.below.end() ? branch : branch.Without(found->second);
    if (!left.empty()) rest.below.emplace(element, std::move(left));
  }
  return rest;
}

FieldSet FieldSet::WithoutBelow(const FieldSet& other) const {
  if (other.member) return {};
  FieldSet rest;
  rest.member = member;
  for (const auto& [element, branch] : below) {
    const auto found = other.below.find(element);
    FieldSet left = found == other.below.end() ? branch : branch.WithoutBelow(found->second);
    if (!left.empty()) rest.below.emplace(element, std::move(left));
  }
  return rest;
}

void FieldSet::AddPath(std::string_view path) {
  FieldSet* here = this;
  for (;;) {
    const auto dot = path.find('.');
    here = &here->below["f:" + std::string(path.substr(0, dot))];
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  here->member = true;
}

std::string PathElementText(std::string_view element) {
  const std::string_view rest = element.substr(std::min<std::size_t>(2, element.size()));
  if (element.starts_with("f:")) return "." + std::string(rest);
  if (element.starts_with("v:")) return "[=" + std::string(rest) + "]";
  if (!element.starts_with("k:")) return "[" + std::string(rest) + "]";
  std::string text = "[";
  if (const auto keys = Document::Parse(rest)) {
    for (const auto& entry : keys->root()) {
      text.append(text.size() > 1 ? "," : "").append(entry.key()).append("=");
      text += json::serialize(entry.value());
    }
  }
  return text + "]";
}

void FieldSet::ForEachPath(const std::function<void(const std::string&)>& visit) const {
  const auto walk = [&](const auto& self, const FieldSet& set, const std::string& path) -> void {
    // Members first, then the paths below them: the order in which kube-apiserver reports conflicts.
    for (const auto& [element, branch] : set.below) {
      if (branch.member) visit(path + PathElementText(element));
    }
    for (const auto& [element, branch] : set.below) self(self, branch, path + PathElementText(element));
  };
  walk(walk, *this, {});
}

json::value FieldSet::ToJson() const {
  json::object fields;
  if (member && !below.empty()) fields["."] = json::object();
  for (const auto& [element, branch] : below) fields[element] = branch.ToJson();
  return fields;
}

FieldSet FieldSet::FromJson(const json::object& fields) {
  FieldSet set;
  for (const auto& entry : fields) {
    if (entry.key() == ".") {
      set.member = true;
      continue;
    }
    const json::object* branch = entry.value().if_object();
    FieldSet& child = set.below[entry.key()];
    if (branch != nullptr) child = FromJson(*branch);
    if (branch == nullptr || branch->empty()) child.member = true;
  }
  return set;
}

}  // namespace berth::sandbox

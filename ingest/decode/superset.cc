#include "ingest/decode/superset.h"

#include <cassert>
#include <set>
#include <utility>

namespace tallyd {
namespace {

// An event with less than this part of the fields would mostly carry what it lacks: a field whose
// name holds an id must not make each event pay for hundreds of others.
constexpr size_t kLeastPart = 8;

// What may stand for objects, too, beyond it is left to events' own shapes.
constexpr size_t kMaxMembers = 2 * Superset::kMaxFields;

static_assert(Superset::kMaxFields == SupersetTerms::kWords * 64);

}  // namespace

Superset::Superset(std::vector<std::string> fields, uint32_t number) {
  shape_.fields = std::move(fields);
  shape_.interned = true;
  shape_.number = number;
  shape_.terms = &terms_;
  std::set<std::string_view> known(shape_.fields.begin(), shape_.fields.end());
  for (size_t place = 0; place < shape_.fields.size(); ++place) {
    const std::string& path = shape_.fields[place];
    for (size_t slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1)) {
      const std::string_view object = std::string_view(path).substr(0, slash);
      const size_t to_come = shape_.fields.size() - place;
      if (members_.size() + to_come >= kMaxMembers || !known.insert(object).second) continue;
      members_.push_back({std::string(object), kNoPlace});
    }
    members_.push_back({path, static_cast<uint16_t>(place)});
  }
  for (uint32_t i = 0; i < members_.size(); ++i) numbers_.emplace(members_[i].path, i);
}

std::optional<uint32_t> Superset::FindMember(std::string_view path) const {
  const auto found = numbers_.find(path);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

uint16_t Superset::PlaceOf(std::string_view field) const {
  const auto found = numbers_.find(field);
  return found == numbers_.end() ? kNoPlace : members_[found->second].place;
}

bool Superset::Serves(std::span<const uint16_t> places) const {
  if (places.empty() || places.size() * kLeastPart < shape_.fields.size()) return false;
  SupersetTerms::Places present = {};
  for (const uint16_t place : places) present[place / 64] |= uint64_t{1} << place % 64;
  return !terms_.refused() && terms_.AreMetBy(present);
}

}  // namespace tallyd

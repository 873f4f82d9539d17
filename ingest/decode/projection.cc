#include "ingest/decode/projection.h"

#include <optional>

namespace tallyd {

void Projection::Begin(const Superset& superset) {
  superset_ = &superset;
  next_ = 0;
  seen_.assign((superset.members().size() + 63) / 64, 0);
  met_.clear();
  places_.clear();
  prefix_.clear();
  prefix_sizes_.clear();
}

void Projection::Close() {
  met_.push_back({0, MemberKind::kClose});
  prefix_.resize(prefix_sizes_.back());
  prefix_sizes_.pop_back();
}

Projection::Found Projection::Look(std::string_view name, MemberKind kind) {
  std::string_view path = name;
  if (!prefix_.empty()) path = path_.assign(prefix_).append(name);
  const std::optional<uint32_t> member = superset_->FindMember(path);
  return member ? Take(*member, kind) : Found::kNo;
}

void Projection::Enter(uint32_t member) {
  prefix_sizes_.push_back(prefix_.size());
  prefix_.assign(superset_->members()[member].path).push_back('/');
}

}  // namespace tallyd

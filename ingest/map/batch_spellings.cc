#include "ingest/map/batch_spellings.h"

namespace tallyd {

void BatchSpellings::Note(const ShapeMapping& mapping) {
  if (mapping.compact.empty() || last_ == &mapping) return;
  last_ = &mapping;
  shapes_[&mapping] = ++now_;
}

void BatchSpellings::NoteChoice(const ShapeMapping& mapping, std::span<const Value> values) {
  if (mapping.compact.empty()) return;
  last_ = nullptr;
  std::vector<When>& spelled = choices_[&mapping];
  spelled.resize(mapping.compact.size());
  ++now_;
  for (size_t i = 0; i < spelled.size(); ++i) {
    if (!values[mapping.compact[i].place].is_null()) spelled[i] = now_;
  }
}

void BatchSpellings::NoteOwn(const ShapeMapping& mapping) {
  if (mapping.compact.empty()) return;
  last_ = nullptr;
  ++now_;
  for (const CompactField& field : mapping.compact) Add(field, now_, &own_);
}

std::map<std::string, std::string> BatchSpellings::Last() const {
  Spellings spellings = own_;
  for (const auto& [mapping, when] : shapes_) {
    for (const CompactField& field : mapping->compact) Add(field, when, &spellings);
  }
  for (const auto& [mapping, spelled] : choices_) {
    for (size_t i = 0; i < spelled.size(); ++i) {
      if (spelled[i] > 0) Add(mapping->compact[i], spelled[i], &spellings);
    }
  }
  std::map<std::string, std::string> last;
  for (auto& [compact, spelling] : spellings) last.emplace(compact, std::move(spelling.field));
  return last;
}

// Of one event the first counts.
void BatchSpellings::Add(const CompactField& field, When when, Spellings* spellings) {
  Spelling& last = (*spellings)[field.compact];
  if (last.when < when) last = {when, field.field};
}

}  // namespace tallyd

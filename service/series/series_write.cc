#include "service/series/series_write.h"

#include <fmt/format.h>

#include <algorithm>

namespace tallyd {

// Of one stream's events in one write.
class WriteGate final : public SeriesGate {
 public:
  WriteGate(const SeriesIndexes::OfStream& of, const SeriesBounds& bounds, std::string_view stream,
            SeriesWrite* write)
      : of_(of), bounds_(bounds), stream_(stream), write_(*write) {}

  Answer Admit(std::span<const Row> rows, std::span<const std::string> fields) override {
    rows_.clear();
    names_.clear();
    Answer answer = AdmitFields(fields);
    if (!answer.refusal && !answer.later) answer = AdmitRows(rows);
    const bool stays = !answer.refusal && !answer.later;
    for (const auto& [index, id] : rows_) {
      if (stays) {
        write_.Reserve(index, id);
      } else {
        index->Settle(std::span(&id, 1), false);
      }
    }
    for (const std::string& name : names_) {
      if (stays) {
        write_.fields_.emplace_back(of_.fields, name);
      } else {
        of_.fields->Settle(name);
      }
    }
    return answer;
  }

 private:
  Answer AdmitFields(std::span<const std::string> fields) {
    if (of_.fields == nullptr || bounds_.fields == 0) return {};
    for (const std::string& field : fields) {
      switch (of_.fields->Admit(field, bounds_.fields)) {
        case FieldLimit::Admitted::kKnown:
          break;
        case FieldLimit::Admitted::kReserved:
          names_.push_back(field);
          break;
        case FieldLimit::Admitted::kFull:
          return {Refusal{field, fmt::format("field \"{}\" would be new, and stream {} has the {} "
                                             "fields that it may have (max_fields)",
                                             Shown(field), stream_, bounds_.fields)}};
      }
    }
    return {};
  }

  Answer AdmitRows(std::span<const Row> rows) {
    for (const Row& row : rows) {
      const SeriesIndexPtr* const index = IndexOf(row.table);
      if (index == nullptr) continue;
      const SeriesIndex::Entry entry = (*index)->Admit(row.series, bounds_.series);
      switch (entry.how) {
        case SeriesIndex::Admitted::kKnown:
          break;
        case SeriesIndex::Admitted::kReserved:
          rows_.emplace_back(*index, entry.id);
          break;
        case SeriesIndex::Admitted::kUncounted:
          return {std::nullopt, true};
        case SeriesIndex::Admitted::kFull:
          return {Refusal{{},
                          fmt::format("series {} would be new, and stream {} has the {} series "
                                      "that it may have (max_series)",
                                      Shown(row.series), stream_, bounds_.series)}};
      }
    }
    return {};
  }

  // Streams have few tables.
  const SeriesIndexPtr* IndexOf(TableId table) const {
    for (const SeriesIndexPtr& index : of_.tables) {
      if (index->table()->id == table) return &index;
    }
    return nullptr;
  }

  const SeriesIndexes::OfStream& of_;
  const SeriesBounds bounds_;
  const std::string stream_;
  SeriesWrite& write_;
  // Of the event at hand.
  std::vector<std::pair<SeriesIndexPtr, SeriesSet::Id>> rows_;
  std::vector<std::string> names_;
};

std::unique_ptr<SeriesGate> SeriesWrite::GateOf(const SeriesIndexes* indexes,
                                                std::string_view stream,
                                                const SeriesBounds& bounds) {
  const SeriesIndexes::OfStream* const of =
      indexes == nullptr ? nullptr : indexes->FindStream(stream);
  if (of == nullptr) return nullptr;
  return std::make_unique<WriteGate>(*of, bounds, stream, this);
}

void SeriesWrite::NoteRows(const SeriesIndexes* indexes, const RowStems& rows) {
  if (indexes == nullptr) return;
  for (const RowStems::OfTable& touched : rows.tables()) {
    const SeriesIndexPtr index = indexes->Find(touched.table);
    if (index == nullptr) continue;
    for (const RowStems::Entry& entry : touched.entries) {
      const std::string_view series = index->keys().SeriesOf(touched.StemOf(entry));
      if (!series.empty()) Note(index, series);
    }
  }
}

void SeriesWrite::NoteRow(const SeriesIndexes* indexes, TableId table, std::string_view key) {
  const SeriesIndexPtr index = indexes == nullptr ? nullptr : indexes->Find(table);
  if (index == nullptr) return;
  const std::string_view series = index->keys().SeriesOf(key);
  if (!series.empty()) Note(index, series);
}

void SeriesWrite::Note(const SeriesIndexPtr& index, std::string_view series) {
  const SeriesIndex::Entry entry = index->Admit(series, 0);
  if (entry.how == SeriesIndex::Admitted::kReserved) Reserve(index, entry.id);
}

void SeriesWrite::Reserve(const SeriesIndexPtr& index, SeriesSet::Id id) {
  auto of = std::ranges::find(reserved_, index, &decltype(reserved_)::value_type::first);
  if (of == reserved_.end()) of = reserved_.insert(of, {index, {}});
  of->second.push_back(id);
}

std::vector<TableId> SeriesWrite::tables() const {
  std::vector<TableId> tables;
  for (const auto& [index, ids] : reserved_) tables.push_back(index->table()->id);
  return tables;
}

void SeriesWrite::Settle(bool stays) {
  for (const auto& [index, ids] : reserved_) index->Settle(ids, stays);
  for (const auto& [limit, field] : fields_) limit->Settle(field);
  reserved_.clear();
  fields_.clear();
  since_.reset();
}

}  // namespace tallyd

#include "ingest/unmap/column_reader.h"

#include <algorithm>
#include <utility>

#include "config/schema/table_rules.h"
#include "config/values/glob.h"

namespace tallyd {
namespace {

// Whether the names of the rule's columns hold values of events: each column then tells of another
// thing than its neighbours, as a list of friends does.
bool NameHoldsValue(const ColumnRule& rule) {
  return std::ranges::any_of(rule.name.segments(), [&](const Segment& segment) {
    return GivesBackInColumn(segment) && !IsMeasuredField(rule, segment);
  });
}

// Columns beyond this that are in no set are not remembered: their names hold values.
constexpr size_t kMaxNamedColumns = 4096;

ReadColumn::As HowToRead(const ColumnRule& rule) {
  if (rule.serialize != Serialization::kNone) return ReadColumn::As::kBlob;
  if (rule.value.is_constant()) return ReadColumn::As::kNothing;
  const Segment& first = rule.value.segments()[0];
  if (!rule.value.is_one_placeholder() || !first.spec.info().is_as_is) {
    return ReadColumn::As::kTemplate;
  }
  if (IsMeasuredValue(rule, first)) return ReadColumn::As::kMeasured;
  if (IsMeasuredField(rule, first)) return ReadColumn::As::kTemplate;
  return ReadColumn::As::kField;
}

bool IsPlain(std::vector<int32_t> direct) {
  std::erase(direct, ReadSet::kSkip);
  std::ranges::sort(direct);
  return std::ranges::adjacent_find(direct) == direct.end() &&
         (direct.empty() || direct.front() >= 0);
}

}  // namespace

ColumnReader::ColumnReader(const Table& table, TablePtr stored,
                           std::vector<std::string> stream_fields, FieldTable* fields)
    : table_(table),
      stored_(std::move(stored)),
      stream_fields_(std::move(stream_fields)),
      fields_(fields),
      inverse_(table_, *stored_, stream_fields_) {}

void ColumnReader::Select(const std::vector<std::string>& globs) {
  globs_ = globs;
  sets_.clear();
  last_set_ = nullptr;
  named_.clear();
}

bool ColumnReader::Selected(std::string_view field) const {
  auto matches = [field](const std::string& glob) { return GlobMatches(glob, field); };
  return globs_.empty() || std::ranges::any_of(globs_, matches) || KeyHolds(table_, field);
}

const ReadSet& ColumnReader::Find(const ColumnSet& set) {
  if (&set == last_set_) return *last_read_;
  std::unique_ptr<ReadSet>& known = sets_[&set];
  if (!known) {
    known = std::make_unique<ReadSet>();
    known->columns.resize(set.columns.size());
    for (size_t i = 0; i < set.columns.size(); ++i) {
      Compile(set.columns[i].ref(), &known->columns[i]);
      known->direct.push_back(Direct(known->columns[i]));
    }
    known->is_plain = IsPlain(known->direct);
  }
  last_set_ = &set;
  last_read_ = known.get();
  return *last_read_;
}

int32_t ColumnReader::Direct(const ReadColumn& column) {
  if (column.rule == nullptr) return ReadSet::kSkip;
  if (column.is_event || column.value_in_name || !column.named.empty()) return ReadSet::kGeneral;
  if (column.as == ReadColumn::As::kField) {
    return column.whole_selected ? static_cast<int32_t>(column.whole_field) : ReadSet::kSkip;
  }
  const bool is_direct =
      column.as == ReadColumn::As::kMeasured && column.measured == ColumnMeaning::Measured::kFixed;
  if (!is_direct) return ReadSet::kGeneral;
  return column.measured_selected ? static_cast<int32_t>(column.measured_field) : ReadSet::kSkip;
}

const ReadColumn& ColumnReader::Find(const ColumnRef& column, ReadColumn* scratch) {
  key_.clear();
  key_.push_back(static_cast<char>(column.family >> 8));
  key_.push_back(static_cast<char>(column.family & 0xFF));
  key_ += column.qualifier;
  if (const auto found = named_.find(key_); found != named_.end()) return *found->second;
  if (named_.size() >= kMaxNamedColumns) {
    *scratch = {};
    Compile(column, scratch);
    return *scratch;
  }
  auto read = std::make_unique<ReadColumn>();
  read->qualifier = column.qualifier;
  Compile({column.family, read->qualifier}, read.get());
  return *named_.emplace(key_, std::move(read)).first->second;
}

void ColumnReader::Compile(const ColumnRef& column, ReadColumn* read) const {
  const ColumnMeaning meaning = inverse_.Read(column);
  read->rule = meaning.rule;
  if (meaning.rule == nullptr) return;
  read->as = HowToRead(*meaning.rule);
  read->is_event = KeepsNewest(table_) && !table_.row_key.names_measured_field() &&
                   NameHoldsValue(*meaning.rule);
  if (read->as == ReadColumn::As::kField) {
    const std::string& field = meaning.rule->value.segments()[0].field;
    read->whole_selected = Selected(field);
    if (read->whole_selected) read->whole_field = fields_->Add(field);
  }
  read->measured = meaning.measured;
  if (meaning.measured == ColumnMeaning::Measured::kFixed) {
    read->measured_selected = Selected(meaning.field);
    if (read->measured_selected) read->measured_field = fields_->Add(meaning.field);
  }
  read->value_in_name = meaning.value_in_name;
  read->name_value = meaning.name_value;
  for (const auto& [name, value] : meaning.named) {
    if (Selected(name)) read->named.push_back({fields_->Add(name), value});
  }
}

}  // namespace tallyd

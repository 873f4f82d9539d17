#include "storage/leveldb/seal/run_sealer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tallyd {
namespace {

Error Malformed(std::string_view row_key) {
  return Error(ErrorCode::kCorruption,
               fmt::format("a stored entry of row \"{}\" is malformed", row_key));
}

}  // namespace

RunSealer::RunSealer(const Options& options, const HeadEntries& entries)
    : options_(options),
      looks_at_all_(options.has_deletes || options.plan->counts_versions()),
      rows_(entries, options.table),
      reader_(options.table, options.plan->sets()),
      source_(&reader_) {}

Result<bool> RunSealer::Step(uint32_t entries) {
  for (uint32_t taken = 0; taken < entries;) {
    if (row_ == Row::kDone) {
      const Result<bool> next = rows_.Next();
      if (!next || !*next) return next;
      BeginRow();
    }
    const Result<uint32_t> sealed =
        row_ == Row::kKept ? Keep(entries - taken) : Copy(entries - taken);
    if (!sealed) return sealed.error();
    taken += *sealed;
    if (taken < entries) row_ = Row::kDone;
  }
  return true;
}

void RunSealer::BeginRow() {
  row_ = NeedsLook(rows_.entries()) ? Row::kKept : Row::kCopied;
  copied_ = 0;
  if (row_ != Row::kKept) return;
  source_.Begin(rows_.row_key(), rows_.entries());
  options_.kept->Assign({&source_});
}

// As KeptEntries has it: what is past its age, and what was written twice.
bool RunSealer::NeedsLook(std::span<const HeadRows::Entry> entries) const {
  if (looks_at_all_ || entries.back().time < options_.plan->ageless_from()) return true;
  return std::ranges::adjacent_find(entries, {}, &HeadRows::Entry::time) != entries.end();
}

Result<uint32_t> RunSealer::Copy(uint32_t most) {
  const std::span<const HeadRows::Entry> row = rows_.entries();
  const size_t end = std::min(row.size(), copied_ + most);
  const auto count = static_cast<uint32_t>(end - copied_);
  for (; copied_ < end; ++copied_) {
    const HeadRows::Entry& entry = row[copied_];
    const EntryId id{rows_.row_key(), entry.time, options_.sequence};
    std::string_view values;
    bool is_whole = false;
    if (const ColumnSet* const set = reader_.FindValues(entry.value, &values, &is_whole)) {
      const Result<StoredEntry> added = options_.writer->AddStored(id, *set, values, is_whole);
      if (!added) return added.error();
      if (*added == StoredEntry::kMalformed) return Malformed(rows_.row_key());
      sealed_ += *added == StoredEntry::kAdded ? 1 : 0;
      continue;
    }
    if (!reader_.Read(entry.value, &cells_)) return Malformed(rows_.row_key());
    if (std::ranges::all_of(cells_.values, &Value::is_null)) continue;
    const Status added = options_.writer->Add(id, cells_);
    if (!added) return added.error();
    ++sealed_;
  }
  return count;
}

Result<uint32_t> RunSealer::Keep(uint32_t most) {
  uint32_t count = 0;
  for (; count < most; ++count) {
    const Result<bool> next = options_.kept->Next();
    if (!next) return next.error();
    if (!*next) break;
    const Status added = options_.writer->Add(options_.kept->entry());
    if (!added) return added.error();
    ++sealed_;
  }
  return count;
}

void RunSealer::RowSource::Begin(std::string_view row_key,
                                 std::span<const HeadRows::Entry> entries) {
  row_key_ = row_key;
  left_ = entries;
  Load();
}

void RunSealer::RowSource::Load() {
  valid_ = !left_.empty();
  if (!valid_) return;
  time_ = left_.front().time;
  sequence_ = left_.front().sequence;
}

Status RunSealer::RowSource::SeekRow(std::string_view key) {
  if (row_key_ < key) left_ = {};
  Load();
  return {};
}

Status RunSealer::RowSource::SeekRowBefore(std::string_view key) {
  if (!key.empty() && row_key_ >= key) left_ = {};
  Load();
  return {};
}

Status RunSealer::RowSource::SkipNewer(TimeUs below) {
  while (valid_ && time_ >= below) {
    const Status moved = Next();
    if (!moved) return moved;
  }
  return {};
}

Status RunSealer::RowSource::AddTo(RowAssembler* row) {
  if (row->Add(time_, sequence_, left_.front().value)) return {};
  return Malformed(row_key_);
}

Status RunSealer::RowSource::Next() {
  left_ = left_.subspan(1);
  Load();
  return {};
}

Status RunSealer::RowSource::Read(WholeEntry* entry) {
  entry->row_key.assign(row_key_);
  entry->time = time_;
  entry->sequence = sequence_;
  return reader_.Read(left_.front().value, entry) ? Status() : Malformed(row_key_);
}

}  // namespace tallyd

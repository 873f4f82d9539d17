#include "storage/leveldb/seal/hidden_entries.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "storage/blocks/column_block.h"

namespace tallyd {
namespace {

class HiddenCounter {
 public:
  HiddenCounter(const BlockFile& file, const DeleteRange& deleted)
      : file_(file), deleted_(deleted) {}

  Result<uint64_t> Count(const std::function<Status()>& look) {
    const Result<BlockIndexPtr> index = file_.Index();
    if (!index) return index.error();
    const KeyRange& rows = deleted_.what.rows;
    const auto& blocks = (*index)->blocks();
    uint64_t hidden = 0;
    for (size_t i = (*index)->FindBlock(rows.start); i < blocks.size(); ++i) {
      if (!rows.end.empty() && blocks[i].first_key >= rows.end) break;
      if (!blocks[i].Overlaps(deleted_.what.cells)) continue;
      const bool whole = CoversRows(blocks[i]);
      if (whole && (hidden > 0 || HidesSome(blocks[i]))) {
        hidden += blocks[i].entries;
        continue;
      }
      const Status may = look();
      if (!may) return may.error();
      const Result<uint64_t> looked = LookAt(blocks[i]);
      if (!looked) return looked;
      hidden += *looked;
    }
    return hidden;
  }

 private:
  bool CoversRows(const BlockPlace& place) const {
    return deleted_.CoversRow(place.first_key) && deleted_.CoversRow(place.last_key);
  }
  // Of a block all of whose rows are covered: what has its first or its last time is there.
  bool HidesSome(const BlockPlace& place) const {
    const uint64_t last = file_.info().max_sequence;
    return deleted_.HidesEntry(place.min_time, last) || deleted_.HidesEntry(place.max_time, last);
  }

  Result<uint64_t> LookAt(const BlockPlace& place) {
    const Result<BytesPtr> head = file_.ReadPart(place, 0, place.head_size, 0, BlockReads::kOnce);
    if (!head) return head.error();
    const Status opened = block_.Open(*head.value());
    if (!opened) return file_.Damaged(opened.error());
    const KeyRange& rows = deleted_.what.rows;
    const uint32_t begin = block_.LowerBound(rows.start);
    const uint32_t end = rows.end.empty() ? block_.entries() : block_.LowerBound(rows.end);
    std::vector<uint32_t> hidden;
    for (uint32_t entry = begin; entry < end; ++entry) {
      const TimeUs time = block_.times().At(entry);
      if (deleted_.HidesTime(time, block_.sequence_of(entry))) hidden.push_back(entry);
    }
    if (!deleted_.what.family || hidden.empty()) return hidden.size();
    return block_.schema()->by_presence ? CountByPresence(place, hidden) : CountByShape(hidden);
  }

  uint64_t CountByShape(const std::vector<uint32_t>& entries) const {
    std::vector<bool> has;
    for (const std::vector<uint32_t>& shape : block_.schema()->shapes) {
      has.push_back(std::ranges::any_of(shape, [&](uint32_t column) { return Hides(column); }));
    }
    return static_cast<uint64_t>(
        std::ranges::count_if(entries, [&](uint32_t e) { return has[block_.shape_of(e)]; }));
  }

  Result<uint64_t> CountByPresence(const BlockPlace& place, std::vector<uint32_t> entries) {
    const size_t all = entries.size();
    std::string bytes;
    for (uint32_t column = 0; column < block_.schema()->columns.size(); ++column) {
      if (!Hides(column)) continue;
      const ColumnBlock::Stream stream = block_.StreamOf(column);
      Status read = file_.Read(place, stream.offset, stream.size, &bytes);
      if (!read) return read.error();
      read = block_.Decode(column, bytes, &data_);
      if (!read) return file_.Damaged(read.error());
      const Presence* const presence = block_.PresenceOf(column);
      if (presence == nullptr) return all;
      std::erase_if(entries, [&](uint32_t entry) { return presence->Has(entry); });
    }
    return all - entries.size();
  }

  bool Hides(uint32_t column) const {
    return deleted_.HidesColumn(block_.schema()->columns[column].ref());
  }

  const BlockFile& file_;
  const DeleteRange& deleted_;
  ColumnBlock block_;
  ColumnData data_;
};

}  // namespace

Result<uint64_t> CountHidden(const BlockFile& file, const DeleteRange& deleted,
                             const std::function<Status()>& look) {
  const BlockFileInfo& info = file.info();
  const bool may_touch = deleted.Touches(file.first_key(), file.last_key(), info.deletes) &&
                         info.Overlaps(deleted.what.cells) && info.min_sequence < deleted.sequence;
  if (!may_touch) return uint64_t{0};
  return HiddenCounter(file, deleted).Count(look);
}

}  // namespace tallyd

// BlockSource: the entries of a block file. Blocks whose times lie outside of what is wanted are
// passed over; of the others only the columns that are selected are read and decoded.
#ifndef TALLYD_STORAGE_LEVELDB_READ_BLOCK_SOURCE_H_
#define TALLYD_STORAGE_LEVELDB_READ_BLOCK_SOURCE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/blocks/column_block.h"
#include "storage/leveldb/files/block_file.h"
#include "storage/leveldb/read/entry_source.h"
#include "storage/leveldb/read/row_assembler.h"

namespace tallyd {

class BlockSource final : public EntrySource {
 public:
  // `wanted`: entries of other times may be left out. `plan` outlives the source.
  BlockSource(BlockFilePtr file, ColumnPlan* plan, const TimeRange& wanted,
              BlockReads reads = BlockReads::kOnce);

  Status SeekRow(std::string_view key) override;
  Status SeekRowBefore(std::string_view key) override;
  Status Next() override;
  Status SkipNewer(TimeUs below) override;
  Status AddTo(RowAssembler* row) override;
  void Release() override;

  Status Read(WholeEntry* entry) override;

  // The cells of the entry's shape, decoded.
  Result<const ShapeCells*> Cells() { return CellsOf(block_.shape_of(entry_)); }
  // Those of all entries of the run that RunLength tells of.
  Result<const ShapeCells*> RunCells() { return CellsOf(RunShape()); }
  // The same for those who want no values, which are decoded only where it takes them to tell which
  // entries have them: `data` may be null, or of a block before.
  Result<const ShapeCells*> RunColumns();
  // Whether that may be of entries of several shapes; else each entry has few of very many columns,
  // and these two are for those who copy it: how many entries from here on are of one key run, as
  // RunLength, and the cells of one.
  bool RunsHaveAnyShape();
  uint32_t MixedLength(std::string_view end, const TimeRange& times);
  Result<const ShapeCells*> CellsAt(uint32_t entry) { return CellsOf(block_.shape_of(entry)); }
  // For those who copy runs. A plan of every column has given them.
  Status CheckEntriesHaveCells();
  uint32_t entry() const { return entry_; }
  const ColumnBlock& block() const { return block_; }

  // The place of the block at hand; nothing of it was passed while at_block_begin().
  const BlockPlace& place() const { return index_->blocks()[number_]; }
  bool at_block_begin() const { return entry_ == 0; }
  // The bytes of the block at hand; *bytes is replaced.
  Status ReadBlock(std::string* bytes) const {
    return file_->Read(place(), 0, place().size, bytes);
  }
  // Behind the block at hand.
  Status SkipBlock();
  const BlockFile& file() const { return *file_; }

  // How many entries from here on are of one key run, with rows before `end` (empty: no bound) and
  // times in `times`; none where a cell may be written twice, or the block has a part of what a row
  // has at one time. They may be of several shapes, but not where each entry has few of very many
  // columns.
  uint32_t RunLength(std::string_view end, const TimeRange& times);
  // How many from here on have times outside of `times`, whatever their runs and shapes.
  uint32_t LengthOutside(std::string_view end, const TimeRange& times) const;
  // Past `count` entries.
  Status Skip(uint32_t count);

 private:
  uint32_t LengthOf(std::string_view end, const TimeRange& times, std::optional<uint32_t> shape);
  uint32_t LengthBefore(std::string_view end, uint32_t stop) const;
  Status LoadIndex();
  // Whatever the file's bytes cause becomes an error that names it; `part` of the block has them.
  Status Checked(const Status& status, const BlockPlace& block, uint32_t part) const;
  Status Open(size_t number);
  // To the first wanted block from `number` on, and its first entry.
  Status OpenFrom(size_t number);
  Status Load();
  bool IsWanted(const BlockPlace& block) const { return block.Overlaps(wanted_); }
  // What RunCells gives: a shape, or all columns, whose number is that behind the last shape.
  uint32_t RunShape();
  Result<const ShapeCells*> CellsOf(uint32_t shape);
  ShapeCells* PlanShape(uint32_t shape);
  std::vector<uint32_t> ColumnsOf(uint32_t shape) const;
  Status Decode(std::span<const ShapeCells::OfColumn> columns);
  Status TakeTelling(uint32_t shape);
  Result<std::string_view> ReadStreams(uint32_t begin, uint32_t end);

  const BlockFilePtr file_;
  ColumnPlan* const plan_;
  const TimeRange wanted_;
  const BlockReads reads_;

  BlockIndexPtr index_;  // Null until the first seek.
  size_t number_ = 0;    // Of the block at hand.
  bool open_ = false;
  ColumnBlock block_;
  uint32_t entry_ = 0;
  std::string key_;
  BytesPtr head_;            // Of the block at hand, and so much behind it as was read at once.
  uint32_t read_ahead_ = 0;  // Where the streams that were wanted last time ended behind the head.
  BytesPtr bytes_;

  // Of the schema at hand.
  std::shared_ptr<const BlockSchema> schema_;
  uint64_t generation_ = 0;
  std::vector<std::unique_ptr<ShapeCells>> shapes_;  // The last: all. Null: not asked for yet.
  // Of the block at hand.
  std::vector<std::unique_ptr<ColumnData>> data_;  // By column.
  std::vector<bool> decoded_;
  std::vector<bool> shape_ready_;
  std::vector<bool> telling_ready_;          // By shape, where columns tell events apart.
  std::optional<bool> runs_have_any_shape_;  // Once it was asked.
  bool entries_have_cells_ = false;          // Once that was seen.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_BLOCK_SOURCE_H_

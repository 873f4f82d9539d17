#include "storage/scan.h"

namespace tallyd {

Value ColumnData::OtherAt(size_t index) const {
  switch (kind) {
    case Kind::kInt:
      return Value::Int(numbers[index]);
    case Kind::kDecimal:
      return Value::Decimal(numbers[index], scale);
    case Kind::kDouble:
      return Value::Double(doubles[index]);
    case Kind::kBool:
      return Value::Bool(numbers[index] != 0);
    case Kind::kString:
      return Value::String(texts[index]);
    case Kind::kBytes:
      return Value::Bytes(texts[index]);
    case Kind::kMixed:
      break;
  }
  return values[index];
}

size_t ColumnData::size() const {
  switch (kind) {
    case Kind::kDouble:
      return doubles.size();
    case Kind::kString:
    case Kind::kBytes:
      return texts.size();
    case Kind::kMixed:
      return values.size();
    default:
      return numbers.size();
  }
}

namespace {

class RowRuns final : public RunScan {
 public:
  explicit RowRuns(std::unique_ptr<RowScan> rows) : rows_(std::move(rows)) {}
  Result<bool> Next() override { return rows_->Next(); }
  const ColumnRun* run() const override { return nullptr; }
  const Row& row() const override { return rows_->row(); }

 private:
  const std::unique_ptr<RowScan> rows_;
};

}  // namespace

std::unique_ptr<RunScan> RunsOfRows(std::unique_ptr<RowScan> rows) {
  return std::make_unique<RowRuns>(std::move(rows));
}

}  // namespace tallyd

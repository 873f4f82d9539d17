#include "tests/bigtable/tablet/cell_filter.h"

#include <re2/re2.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "tests/bigtable/tablet/limits.h"

namespace tallyd::tablet {
namespace {

using Cell = FilteredCell;
using Cells = FilteredCells;

grpc::Status Invalid(std::string why) {
  return {grpc::StatusCode::INVALID_ARGUMENT, std::move(why)};
}

void SortInReadOrder(Cells* cells) {
  std::ranges::stable_sort(*cells, [](const Cell& a, const Cell& b) {
    return std::tie(a.family, a.qualifier, b.time_us) < std::tie(b.family, b.qualifier, a.time_us);
  });
}

template <class Passes>
CellFilter EachCell(Passes passes) {
  return [passes](FilteredRow*, Cells cells) {
    std::erase_if(cells, [&](const Cell& cell) { return !passes(cell); });
    return cells;
  };
}

// Patterns match whole byte strings.
grpc::Status CompilePattern(const char* field, const std::string& pattern,
                            std::shared_ptr<const re2::RE2>* compiled) {
  re2::RE2::Options options;
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  const auto regex = std::make_shared<const re2::RE2>(pattern, options);
  if (!regex->ok()) {
    return Invalid("Error in field '" + std::string(field) +
                   "' : error parsing regexp: " + regex->error());
  }
  *compiled = regex;
  return grpc::Status::OK;
}

template <class Subject>
grpc::Status CompileRegex(const char* field, const std::string& pattern, Subject subject,
                          CellFilter* compiled) {
  std::shared_ptr<const re2::RE2> regex;
  const grpc::Status parsed = CompilePattern(field, pattern, &regex);
  if (!parsed.ok()) return parsed;
  *compiled = EachCell([regex, subject](const Cell& cell) {
    const std::string_view text = subject(cell);
    return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *regex);
  });
  return grpc::Status::OK;
}

struct Bounds {
  std::optional<std::string> from_closed, from_open, to_closed, to_open;
  bool Holds(std::string_view text) const {
    return !(from_closed && text < *from_closed) && !(from_open && text <= *from_open) &&
           !(to_closed && text > *to_closed) && !(to_open && text >= *to_open);
  }
  bool IsInverted() const {
    const auto& from = from_closed ? from_closed : from_open;
    const auto& to = to_closed ? to_closed : to_open;
    return from && to && !to->empty() && *from > *to;
  }
};

grpc::Status CompileColumns(const v2::ColumnRange& range, CellFilter* compiled) {
  if (range.family_name().empty()) return Invalid("column_range_filter : family_name is required");
  Bounds bounds;
  if (range.has_start_qualifier_closed()) bounds.from_closed = range.start_qualifier_closed();
  if (range.has_start_qualifier_open()) bounds.from_open = range.start_qualifier_open();
  if (range.has_end_qualifier_closed()) bounds.to_closed = range.end_qualifier_closed();
  if (range.has_end_qualifier_open()) bounds.to_open = range.end_qualifier_open();
  if (bounds.IsInverted()) return Invalid("column_range_filter : ends before it begins");
  *compiled = EachCell([bounds, family = range.family_name()](const Cell& cell) {
    return cell.family_name == family && bounds.Holds(cell.qualifier);
  });
  return grpc::Status::OK;
}

grpc::Status CompileValues(const v2::ValueRange& range, CellFilter* compiled) {
  Bounds bounds;
  if (range.has_start_value_closed()) bounds.from_closed = range.start_value_closed();
  if (range.has_start_value_open()) bounds.from_open = range.start_value_open();
  if (range.has_end_value_closed()) bounds.to_closed = range.end_value_closed();
  if (range.has_end_value_open()) bounds.to_open = range.end_value_open();
  if (bounds.IsInverted()) return Invalid("value_range_filter : ends before it begins");
  *compiled = EachCell([bounds](const Cell& cell) { return bounds.Holds(cell.value); });
  return grpc::Status::OK;
}

grpc::Status CompileTimes(const v2::TimestampRange& range, int64_t granularity_us,
                          CellFilter* compiled) {
  const int64_t from = range.start_timestamp_micros();
  const int64_t to = range.end_timestamp_micros();
  if (from % granularity_us != 0 || to % granularity_us != 0 || from < 0 || to < 0) {
    return Invalid(
        "timestamp_range_filter : Timestamp granularity mismatch. Expected a multiple "
        "of 1000 (millisecond granularity).");
  }
  *compiled = EachCell([from, to](const Cell& cell) {
    return cell.time_us >= from && (to == 0 || cell.time_us < to);
  });
  return grpc::Status::OK;
}

CellFilter RowLimit(size_t limit) {
  return [limit](FilteredRow*, Cells cells) {
    if (cells.size() > limit) cells.resize(limit);
    return cells;
  };
}

CellFilter RowOffset(size_t offset) {
  return [offset](FilteredRow*, Cells cells) {
    cells.erase(cells.begin(),
                cells.begin() + static_cast<std::ptrdiff_t>(std::min(offset, cells.size())));
    return cells;
  };
}

CellFilter ColumnLimit(int limit) {
  return [limit](FilteredRow*, Cells cells) {
    Cells kept;
    int seen = 0;
    for (Cell& cell : cells) {
      const bool same = !kept.empty() && kept.back().family == cell.family &&
                        kept.back().qualifier == cell.qualifier;
      seen = same ? seen + 1 : 1;
      if (seen <= limit) kept.push_back(std::move(cell));
    }
    return kept;
  };
}

CellFilter Strip() {
  return [](FilteredRow*, Cells cells) {
    for (Cell& cell : cells) cell.value = {};
    return cells;
  };
}

grpc::Status CompileLabel(const std::string& label, CellFilter* compiled) {
  const bool spelled =
      !label.empty() && label.size() <= kLabelBytesMax &&
      label.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  if (!spelled) return Invalid("apply_label_transformer : no label: " + label);
  *compiled = [label](FilteredRow*, Cells cells) {
    for (Cell& cell : cells) cell.labels.push_back(label);
    return cells;
  };
  return grpc::Status::OK;
}

class Compiler {
 public:
  explicit Compiler(int64_t granularity_us) : granularity_us_(granularity_us) {}

  grpc::Status Compile(const v2::RowFilter& filter, int depth, CellFilter* compiled) {
    if (depth > kFilterDepthMax) return Invalid("Row filter is nested deeper than 20");
    switch (filter.filter_case()) {
      case v2::RowFilter::kChain:
        return CompileChain(filter.chain(), depth, compiled);
      case v2::RowFilter::kInterleave:
        return CompileInterleave(filter.interleave(), depth, compiled);
      case v2::RowFilter::kCondition:
        return CompileCondition(filter.condition(), depth, compiled);
      case v2::RowFilter::kSink:
        return CompileSink(filter.sink(), compiled);
      default:
        return CompileLeaf(filter, compiled);
    }
  }

 private:
  template <class Filters>
  grpc::Status CompileAll(const Filters& filters, int depth, std::vector<CellFilter>* compiled) {
    if (filters.size() < 2) return Invalid("Fewer than two filters in a chain or interleave");
    compiled->resize(static_cast<size_t>(filters.size()));
    for (int i = 0; i < filters.size(); ++i) {
      const grpc::Status status =
          Compile(filters.Get(i), depth + 1, &(*compiled)[static_cast<size_t>(i)]);
      if (!status.ok()) return status;
    }
    return grpc::Status::OK;
  }

  grpc::Status CompileChain(const v2::RowFilter::Chain& chain, int depth, CellFilter* compiled) {
    const auto labels = std::ranges::count_if(chain.filters(), [](const v2::RowFilter& one) {
      return one.has_apply_label_transformer();
    });
    if (labels > 1) return Invalid("A chain may have one apply_label_transformer");
    std::vector<CellFilter> filters;
    const grpc::Status status = CompileAll(chain.filters(), depth, &filters);
    *compiled = [filters](FilteredRow* row, Cells cells) {
      for (const CellFilter& one : filters) cells = one(row, std::move(cells));
      return cells;
    };
    return status;
  }

  grpc::Status CompileInterleave(const v2::RowFilter::Interleave& interleave, int depth,
                                 CellFilter* compiled) {
    std::vector<CellFilter> filters;
    const grpc::Status status = CompileAll(interleave.filters(), depth, &filters);
    *compiled = [filters](FilteredRow* row, const Cells& cells) {
      Cells merged;
      for (const CellFilter& one : filters) {
        Cells passed = one(row, cells);
        std::ranges::move(passed, std::back_inserter(merged));
      }
      SortInReadOrder(&merged);
      return merged;
    };
    return status;
  }

  grpc::Status CompileCondition(const v2::RowFilter::Condition& condition, int depth,
                                CellFilter* compiled) {
    in_condition_ += 1;
    CellFilter predicate, then, otherwise;
    grpc::Status status = Compile(condition.predicate_filter(), depth + 1, &predicate);
    if (status.ok()) status = Compile(condition.true_filter(), depth + 1, &then);
    if (status.ok()) status = Compile(condition.false_filter(), depth + 1, &otherwise);
    in_condition_ -= 1;
    const auto nothing = [](FilteredRow*, const Cells&) { return Cells(); };
    if (!condition.has_true_filter()) then = nothing;
    if (!condition.has_false_filter()) otherwise = nothing;
    *compiled = [predicate, then, otherwise](FilteredRow* row, const Cells& cells) {
      return predicate(row, cells).empty() ? otherwise(row, cells) : then(row, cells);
    };
    return status;
  }

  grpc::Status CompileSink(bool sink, CellFilter* compiled) const {
    if (!sink) return Invalid("sink must be true");
    if (in_condition_ > 0) return Invalid("sink may not stand in a condition");
    *compiled = [](FilteredRow* row, Cells cells) {
      std::ranges::move(cells, std::back_inserter(row->sunk));
      return Cells();
    };
    return grpc::Status::OK;
  }

  grpc::Status CompileLeaf(const v2::RowFilter& filter, CellFilter* compiled) const;
  static grpc::Status CompileCount(const v2::RowFilter& filter, CellFilter* compiled);

  const int64_t granularity_us_;
  int in_condition_ = 0;
};

grpc::Status Compiler::CompileCount(const v2::RowFilter& filter, CellFilter* compiled) {
  const int count = filter.has_cells_per_row_limit_filter() ? filter.cells_per_row_limit_filter()
                    : filter.has_cells_per_row_offset_filter()
                        ? filter.cells_per_row_offset_filter()
                        : filter.cells_per_column_limit_filter();
  const bool is_offset = filter.has_cells_per_row_offset_filter();
  if (count < 0 || (count == 0 && !is_offset)) return Invalid("A limit of cells must be positive");
  *compiled = is_offset                                 ? RowOffset(static_cast<size_t>(count))
              : filter.has_cells_per_row_limit_filter() ? RowLimit(static_cast<size_t>(count))
                                                        : ColumnLimit(count);
  return grpc::Status::OK;
}

grpc::Status Compiler::CompileLeaf(const v2::RowFilter& filter, CellFilter* compiled) const {
  switch (filter.filter_case()) {
    case v2::RowFilter::kRowKeyRegexFilter: {
      std::shared_ptr<const re2::RE2> regex;
      if (filter.row_key_regex_filter().empty()) return Invalid("An empty row_key_regex_filter");
      const grpc::Status parsed =
          CompilePattern("row_key_regex_filter", filter.row_key_regex_filter(), &regex);
      *compiled = [regex](FilteredRow* row, Cells cells) {
        const re2::StringPiece key(row->key.data(), row->key.size());
        return re2::RE2::FullMatch(key, *regex) ? cells : Cells();
      };
      return parsed;
    }
    case v2::RowFilter::kFamilyNameRegexFilter:
      if (filter.family_name_regex_filter().find(':') != std::string::npos) {
        return Invalid("Error in field 'family_name_regex_filter' : it has a ':'");
      }
      return CompileRegex(
          "family_name_regex_filter", filter.family_name_regex_filter(),
          [](const Cell& cell) { return cell.family_name; }, compiled);
    case v2::RowFilter::kColumnQualifierRegexFilter:
      return CompileRegex(
          "column_qualifier_regex_filter", filter.column_qualifier_regex_filter(),
          [](const Cell& cell) { return cell.qualifier; }, compiled);
    case v2::RowFilter::kValueRegexFilter:
      return CompileRegex(
          "value_regex_filter", filter.value_regex_filter(),
          [](const Cell& cell) { return cell.value; }, compiled);
    case v2::RowFilter::kColumnRangeFilter:
      return CompileColumns(filter.column_range_filter(), compiled);
    case v2::RowFilter::kTimestampRangeFilter:
      return CompileTimes(filter.timestamp_range_filter(), granularity_us_, compiled);
    case v2::RowFilter::kValueRangeFilter:
      return CompileValues(filter.value_range_filter(), compiled);
    case v2::RowFilter::kCellsPerRowOffsetFilter:
    case v2::RowFilter::kCellsPerRowLimitFilter:
    case v2::RowFilter::kCellsPerColumnLimitFilter:
      return CompileCount(filter, compiled);
    case v2::RowFilter::kStripValueTransformer:
      *compiled = Strip();
      return grpc::Status::OK;
    case v2::RowFilter::kRowSampleFilter: {
      const double p = filter.row_sample_filter();
      if (!(p > 0 && p < 1)) return Invalid("row_sample_filter is a probability between 0 and 1");
      *compiled = [p](FilteredRow* row, Cells cells) {
        return std::bernoulli_distribution(p)(*row->random) ? cells : Cells();
      };
      return grpc::Status::OK;
    }
    case v2::RowFilter::kBlockAllFilter:
      *compiled = [](FilteredRow*, const Cells&) { return Cells(); };
      return filter.block_all_filter() ? grpc::Status::OK
                                       : Invalid("block_all_filter must be true");
    case v2::RowFilter::kPassAllFilter:
      *compiled = [](FilteredRow*, Cells cells) { return cells; };
      return filter.pass_all_filter() ? grpc::Status::OK : Invalid("pass_all_filter must be true");
    case v2::RowFilter::kApplyLabelTransformer:
      return CompileLabel(filter.apply_label_transformer(), compiled);
    default:
      *compiled = [](FilteredRow*, Cells cells) { return cells; };
      return grpc::Status::OK;
  }
}

}  // namespace

grpc::Status CompileFilter(const v2::RowFilter& filter, int64_t granularity_us,
                           CellFilter* compiled) {
  if (filter.ByteSizeLong() > kFilterBytesMax) {
    return Invalid("Row filter exceeds maximum size of 20480 bytes");
  }
  return Compiler(granularity_us).Compile(filter, 1, compiled);
}

FilteredCells CellsOf(const StoredTable& table, const StoredRow& row) {
  FilteredCells cells;
  for (const auto& [serial, columns] : row) {
    const std::string* const name = table.NameOf(serial);
    if (name == nullptr) continue;
    for (const auto& [qualifier, versions] : columns) {
      for (const auto& [time, value] : versions) {
        cells.push_back({serial, *name, qualifier, time, value});
      }
    }
  }
  return cells;
}

FilteredCells Filter(const CellFilter& filter, std::string_view key, FilteredCells cells,
                     std::mt19937* random) {
  FilteredRow row{key, {}, random};
  FilteredCells passed = filter(&row, std::move(cells));
  if (!row.sunk.empty()) {
    std::ranges::move(row.sunk, std::back_inserter(passed));
    SortInReadOrder(&passed);
  }
  return passed;
}

}  // namespace tallyd::tablet

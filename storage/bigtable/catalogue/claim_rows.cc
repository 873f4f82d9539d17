#include "storage/bigtable/catalogue/claim_rows.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "storage/bigtable/read/row_filter.h"

namespace tallyd {
namespace {

constexpr std::string_view kClaimRows = "k/";
constexpr std::string_view kOwnerColumn = "o";
constexpr std::string_view kDoubtColumn = "d";
constexpr std::string_view kJournalColumn = "j";
constexpr int kClaimTries = 3;
constexpr uint64_t kSweptOfClaims = 500;
constexpr int64_t kLeaseUs =
    std::chrono::duration_cast<std::chrono::microseconds>(Claiming::kClaimLease).count();
// How far ahead the clock of whoever has a claim may be: one that ends later was given by a clock
// that was wrong, and would keep out all others until then.
constexpr int64_t kMostAheadUs = 60 * kUsPerSecond;
// Nobody waits longer for one than a claim lasts.
constexpr std::chrono::seconds kPatience{5};

SteadyTime Soon() { return std::chrono::steady_clock::now() + kPatience; }

std::string RowOf(std::string_view key) { return std::string(kClaimRows).append(key); }

TimeUs WholeMs(TimeUs time) { return time / kUsPerMs * kUsPerMs; }

struct Mark {
  TimeUs until = 0;
  std::string owner;
};

std::optional<Mark> MarkOf(const CatalogueCells& cells, std::string_view column) {
  const auto cell = cells.find(std::string(column));
  if (cell == cells.end()) return std::nullopt;
  const std::string& text = cell->second;
  Mark mark;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), mark.until);
  if (failed != std::errc() || end == text.data() + text.size()) return std::nullopt;
  mark.owner.assign(end + 1, text.data() + text.size());
  return mark;
}

void SetMark(std::string_view column, const Mark& mark, data_api::Mutation* mutation) {
  const std::string text = std::to_string(mark.until) + " " + mark.owner;
  SetCatalogueCell(column, text, mark.until, mutation);
}

void DeleteColumn(std::string_view column, data_api::Mutation* mutation) {
  auto* const erase = mutation->mutable_delete_from_column();
  erase->set_family_name(std::string(kCatalogueFamily));
  erase->set_column_qualifier(std::string(column));
}

// Matches where the column's newest mark is this one's.
data_api::CheckAndMutateRowRequest IfMarked(std::string_view key, std::string_view column,
                                            const std::string& owner) {
  data_api::CheckAndMutateRowRequest request;
  request.set_row_key(RowOf(key));
  auto* const chain = request.mutable_predicate_filter()->mutable_chain();
  chain->add_filters()->set_column_qualifier_regex_filter(RegexOfGlob(column));
  chain->add_filters()->set_cells_per_column_limit_filter(1);
  chain->add_filters()->set_value_regex_filter(RegexOfGlob("* " + owner));
  return request;
}

data_api::CheckAndMutateRowRequest OfOwner(const Claiming::Held& claim, std::string_view column) {
  return IfMarked(claim.key, column, claim.owner);
}

data_api::CheckAndMutateRowRequest OfJournaled(const std::string& key, const std::string& row) {
  return IfMarked(key, kJournalColumn, row);
}

bool IsHeld(const std::optional<Mark>& owned, TimeUs now) {
  return owned && owned->until >= now && owned->until <= now + kLeaseUs + kMostAheadUs;
}
// However late it ends: what may have counted is never counted again for a clock that was wrong.
bool IsInDoubt(const std::optional<Mark>& doubt, TimeUs now) {
  return doubt && doubt->until >= now;
}

// Matches where something of the row has not ended: some mark of the columns is as above.
data_api::RowFilter IsAlive(TimeUs now) {
  data_api::RowFilter filter;
  for (const std::string_view column : {kOwnerColumn, kDoubtColumn, kJournalColumn}) {
    auto* const chain = filter.mutable_interleave()->add_filters()->mutable_chain();
    chain->add_filters()->set_column_qualifier_regex_filter(RegexOfGlob(column));
    auto* const times = chain->add_filters()->mutable_timestamp_range_filter();
    times->set_start_timestamp_micros(WholeMs(now));
    if (column != kOwnerColumn) continue;
    times->set_end_timestamp_micros(WholeMs(now + kLeaseUs + kMostAheadUs) + kUsPerMs);
  }
  return filter;
}

}  // namespace

Result<Claiming::Fate> ClaimRows::Claim(const Held& claim) {
  for (int i = 0; i < kClaimTries; ++i) {
    const TimeUs now = std::max<TimeUs>(clock_.Now(), 0);
    std::vector<data_api::CheckAndMutateRowRequest> requests(1);
    requests[0].set_row_key(RowOf(claim.key));
    *requests[0].mutable_predicate_filter() = IsAlive(now);
    requests[0].add_false_mutations()->mutable_delete_from_row();
    SetMark(kOwnerColumn, {WholeMs(now + kLeaseUs), claim.owner},
            requests[0].add_false_mutations());
    const Result<std::vector<bool>> matched = rows_.Check(std::move(requests), Soon());
    if (!matched) return matched.error();
    if (!matched->front()) return Fate::kOwn;
    // It is also one's own where the answer to a first try was lost.
    const Result<CatalogueCells> cells = rows_.Read(RowOf(claim.key), Soon());
    if (!cells) return cells.error();
    const std::optional<Mark> owned = MarkOf(*cells, kOwnerColumn);
    if (owned && owned->owner == claim.owner) return Fate::kOwn;
    if (IsHeld(owned, now)) return Fate::kOthers;
    const Result<bool> is_left = MayTakeOver(claim.key, *cells, now);
    if (!is_left) return is_left.error();
    if (!*is_left) return Fate::kOthers;
    if (IsInDoubt(MarkOf(*cells, kDoubtColumn), now)) return Fate::kInDoubt;
  }
  return Fate::kOthers;
}

// A batch that is not in the journal any more is all there, and then its answer is, too; or it was
// given up, or never got there: then the mark goes, and does not keep the claim.
Result<bool> ClaimRows::MayTakeOver(const std::string& key, const CatalogueCells& cells,
                                    TimeUs now) {
  const std::optional<Mark> journaled = MarkOf(cells, kJournalColumn);
  if (!journaled || journaled->until < now) return true;
  const Result<bool> is_pending = journal_.IsPending(journaled->owner, Soon());
  if (!is_pending) return is_pending.error();
  if (*is_pending) return false;
  std::vector<data_api::CheckAndMutateRowRequest> requests = {OfJournaled(key, journaled->owner)};
  DeleteColumn(kJournalColumn, requests[0].add_true_mutations());
  const Result<std::vector<bool>> matched = rows_.Check(std::move(requests), Soon());
  if (!matched) return matched.error();
  return true;
}

Status ClaimRows::Keep(std::span<const Held> claims) {
  std::vector<data_api::CheckAndMutateRowRequest> requests;
  const TimeUs until = WholeMs(std::max<TimeUs>(clock_.Now(), 0) + kLeaseUs);
  for (const Held& claim : claims) {
    SetMark(kOwnerColumn, {until, claim.owner},
            requests.emplace_back(OfOwner(claim, kOwnerColumn)).add_true_mutations());
  }
  const Result<std::vector<bool>> matched = rows_.Check(std::move(requests), Soon());
  return matched ? Status() : Status(matched.error());
}

Status ClaimRows::Release(std::span<const Held> claims) { return DeleteOwn(claims, kOwnerColumn); }

Status ClaimRows::EndCounting(std::span<const Held> claims) {
  return DeleteOwn(claims, kDoubtColumn);
}

Status ClaimRows::DeleteOwn(std::span<const Held> claims, std::string_view column) {
  std::vector<data_api::CheckAndMutateRowRequest> requests;
  for (const Held& claim : claims) {
    DeleteColumn(column, requests.emplace_back(OfOwner(claim, column)).add_true_mutations());
  }
  const Result<std::vector<bool>> matched = rows_.Check(std::move(requests), Soon());
  return matched ? Status() : Status(matched.error());
}

Status ClaimRows::SweepClaims() {
  KeyRange range = PrefixRange(kClaimRows);
  while (true) {
    const Result<std::vector<CatalogueRow>> page = rows_.ReadRange(range, kSweptOfClaims, Soon());
    if (!page) return page.error();
    if (Status swept = SweepPage(*page); !swept) return swept;
    if (page->size() < kSweptOfClaims) return {};
    range.start = page->back().key + '\0';
  }
}

Status ClaimRows::SweepPage(const std::vector<CatalogueRow>& page) {
  const TimeUs now = std::max<TimeUs>(clock_.Now(), 0);
  std::vector<data_api::CheckAndMutateRowRequest> requests;
  for (const CatalogueRow& row : page) {
    if (IsHeld(MarkOf(row.cells, kOwnerColumn), now)) continue;
    if (IsInDoubt(MarkOf(row.cells, kDoubtColumn), now)) continue;
    if (IsInDoubt(MarkOf(row.cells, kJournalColumn), now)) continue;
    data_api::CheckAndMutateRowRequest& request = requests.emplace_back();
    request.set_row_key(row.key);
    *request.mutable_predicate_filter() = IsAlive(now);
    request.add_false_mutations()->mutable_delete_from_row();
  }
  const Result<std::vector<bool>> matched = rows_.Check(std::move(requests), Soon());
  return matched ? Status() : Status(matched.error());
}

Result<bool> ClaimRows::BeginCounting(const Held& claim) {
  std::vector<data_api::CheckAndMutateRowRequest> requests = {OfOwner(claim, kOwnerColumn)};
  SetMark(kDoubtColumn, {WholeMs(std::max<TimeUs>(clock_.Now(), 0) + kUsPerDay), claim.owner},
          requests[0].add_true_mutations());
  const Result<std::vector<bool>> matched = rows_.Check(std::move(requests), Soon());
  if (!matched) return matched.error();
  return matched->front();
}

CatalogueEntry ClaimRows::CountedEntry(std::string_view key) {
  CatalogueEntry entry;
  entry.set_row_key(RowOf(key));
  DeleteColumn(kDoubtColumn, entry.add_mutations());
  DeleteColumn(kJournalColumn, entry.add_mutations());
  return entry;
}

Result<std::vector<bool>> ClaimRows::BeginJournaling(std::span<const Journaled> batches) {
  std::vector<data_api::CheckAndMutateRowRequest> requests;
  const TimeUs until = WholeMs(std::max<TimeUs>(clock_.Now(), 0) + kUsPerDay);
  for (const Journaled& batch : batches) {
    SetMark(kJournalColumn, {until, batch.row},
            requests.emplace_back(OfOwner(batch.claim, kOwnerColumn)).add_true_mutations());
  }
  return rows_.Check(std::move(requests), Soon());
}

Result<bool> ClaimRows::IsJournaled(const std::string& key, const std::string& row) {
  const Result<CatalogueCells> cells = rows_.Read(RowOf(key), Soon());
  if (!cells) return cells.error();
  const std::optional<Mark> mark = MarkOf(*cells, kJournalColumn);
  return mark && mark->owner == row;
}

Result<bool> ClaimRows::BeginCountingJournaled(const std::string& key, const std::string& row) {
  std::vector<data_api::CheckAndMutateRowRequest> requests = {OfJournaled(key, row)};
  SetMark(kDoubtColumn, {WholeMs(std::max<TimeUs>(clock_.Now(), 0) + kUsPerDay), row},
          requests[0].add_true_mutations());
  const Result<std::vector<bool>> matched = rows_.Check(std::move(requests), Soon());
  if (!matched) return matched.error();
  return matched->front();
}

Status ClaimRows::EndJournaled(const std::string& key, const std::string& row) {
  std::vector<data_api::CheckAndMutateRowRequest> requests = {OfJournaled(key, row)};
  DeleteColumn(kDoubtColumn, requests[0].add_true_mutations());
  DeleteColumn(kJournalColumn, requests[0].add_true_mutations());
  const Result<std::vector<bool>> matched = rows_.Check(std::move(requests), Soon());
  return matched ? Status() : Status(matched.error());
}

}  // namespace tallyd

// ClaimRows: what daemons of one instance claim of each other (Claiming), as rows of the catalogue,
// each changed by compare-and-set. Of row k/KEY:
//
//   o   who has the claim: its end (microseconds of the wall clock), a space, the owner
//   d   who began to count under it, in the same form; a day later it says no more. It goes when
//       what was counted is all there.
//   j   under which key of the journal the batch is that was made under it, in the same form, the
//       key in the owner's place. Until that is finished nobody else gets the claim; what of it
//       counts does so while this names it, or not at all. It goes with d.
//
// The times of cells are their ends, so whether any is still to come one look at times tells. The
// daemons' clocks are to agree within a few seconds: where they differ by more a claim may be taken
// over that is still kept, and then nothing counts under it any more. One that ends more than a
// minute later than it could by one's own clock holds nobody off; a doubt does. Thread-safe.
#ifndef TALLYD_STORAGE_BIGTABLE_CATALOGUE_CLAIM_ROWS_H_
#define TALLYD_STORAGE_BIGTABLE_CATALOGUE_CLAIM_ROWS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/bigtable/catalogue/catalogue_rows.h"
#include "storage/bigtable/journal/journal.h"
#include "storage/capabilities.h"

namespace tallyd {

class ClaimRows final : public Claiming {
 public:
  // A claim, and the key of the journal's row of the batch that was made under it.
  struct Journaled {
    Held claim;
    std::string row;
  };

  // All outlive it.
  ClaimRows(CatalogueRows* rows, Journal* journal, const Clock* clock)
      : rows_(*rows), journal_(*journal), clock_(*clock) {}

  Result<Fate> Claim(const Held& claim) override;
  Status Keep(std::span<const Held> claims) override;
  Status Release(std::span<const Held> claims) override;
  Status SweepClaims() override;

  // False: the claim is somebody else's, and nothing may count under it.
  Result<bool> BeginCounting(const Held& claim);
  // Nothing has counted under these, and nothing will: no doubt of theirs stays.
  Status EndCounting(std::span<const Held> claims);
  // What was counted is all there: the entry that says so, to be written with what tells of it.
  // REQUIRES: BeginCounting was true, so that the doubt is one's own.
  static CatalogueEntry CountedEntry(std::string_view key);

  // Before the rows of the journal are written. Of each whether the claim is still its owner's;
  // where not, its batch must not be.
  Result<std::vector<bool>> BeginJournaling(std::span<const Journaled> batches);
  // Whether the claim still names this row: else somebody took it over.
  Result<bool> IsJournaled(const std::string& key, const std::string& row);
  // BeginCounting of a batch in the journal, whoever finishes it.
  Result<bool> BeginCountingJournaled(const std::string& key, const std::string& row);
  // The batch is all there.
  Status EndJournaled(const std::string& key, const std::string& row);

 private:
  Status SweepPage(const std::vector<CatalogueRow>& page);
  // Where its newest mark is that owner's.
  Status DeleteOwn(std::span<const Held> claims, std::string_view column);
  Result<bool> MayTakeOver(const std::string& key, const CatalogueCells& cells, TimeUs now);

  CatalogueRows& rows_;
  Journal& journal_;
  const Clock& clock_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_CATALOGUE_CLAIM_ROWS_H_

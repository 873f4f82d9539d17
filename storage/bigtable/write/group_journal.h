// GroupJournal: what a group of batches has to do with the journal, step by step beside the writing
// of its rows (write/batch_writer.h). Nothing where there is none.
//
//   TakeFound(&group);   // Of those that were found there the leases.
//   Write(&group);       // The others get their rows there, in one call.
//   ... rows, and the notes behind them ...
//   End(&group);         // The rows of those that are all there go, in one call.
//
// A batch whose row stays will be all there, and its error says so. Where it adds up and has no
// Idempotency-Key that is kInDoubt: sent again it would count beside what is finished. A batch that
// gives another value to a cell of one that this daemon left there is kUnavailable.
// Thread-safe; a group is one thread's.
#ifndef TALLYD_STORAGE_BIGTABLE_WRITE_GROUP_JOURNAL_H_
#define TALLYD_STORAGE_BIGTABLE_WRITE_GROUP_JOURNAL_H_

#include <vector>

#include "storage/bigtable/catalogue/bigtable_catalogue.h"
#include "storage/bigtable/catalogue/claim_rows.h"
#include "storage/bigtable/journal/journal.h"
#include "storage/bigtable/write/unfinished_cells.h"
#include "storage/bigtable/write/waiting_batch.h"

namespace tallyd {

class GroupJournal {
 public:
  // All outlive it.
  GroupJournal(BigtableClient* client, BigtableCatalogue* catalogue, ClaimRows* claims,
               Journal* journal, const Clock* clock)
      : client_(*client),
        catalogue_(*catalogue),
        claims_(*claims),
        journal_(*journal),
        clock_(*clock) {}

  // kCancelled: another daemon was faster.
  void TakeFound(BatchGroup* group);
  // Of those that need it; a batch whose row cannot be written has an error, and must not be.
  void Write(BatchGroup* group);
  void End(BatchGroup* group);

  UnfinishedCells& unfinished() { return unfinished_; }

 private:
  void BeginClaims(std::vector<WaitingBatch*>* batches);
  bool EncodeRow(WaitingBatch* waiting, std::vector<Journal::NewRow>* rows);
  void HoldBackWhatContradicts(BatchGroup* group);
  void EndClaims(BatchGroup* group);
  void Erase(BatchGroup* group);
  static void TellOf(WaitingBatch* waiting);

  BigtableClient& client_;
  BigtableCatalogue& catalogue_;
  ClaimRows& claims_;
  Journal& journal_;
  const Clock& clock_;
  UnfinishedCells unfinished_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_WRITE_GROUP_JOURNAL_H_

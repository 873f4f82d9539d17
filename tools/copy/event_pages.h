// EventPages: the events of a table in order of time, a page at a time, from any place where a page
// ended.
//
//   EventPages pages(client, {"server", "METRIC", TimeUnit::kMilliseconds, range}, place);
//   while (*pages.Next(&page)) ... pages.place() is behind the page
//
// A page is what a window of time has. A daemon whose table does not lie in order of time reads all
// of a window for each page of it, so windows grow and shrink until one has about a page. Where a
// page does not take all of its window, the events of its last microsecond are left to the next
// window; only a microsecond with more events than a page is gone through by the daemon's cursor.
// Memory is bounded by a page, of 64 MiB at most. Blocks; for one thread.
#ifndef TALLYD_TOOLS_COPY_EVENT_PAGES_H_
#define TALLYD_TOOLS_COPY_EVENT_PAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/copy/event_line.h"
#include "tools/transfer/patient_client.h"

namespace tallyd {

struct EventSource {
  std::string stream;
  std::string table;
  TimeUnit unit = TimeUnit::kMilliseconds;
  TimeRange time;
};

struct PagePlace {
  TimeUs at = 0;                 // What is before it was read.
  int64_t width_us = kUsPerDay;  // Of the next window.
  std::string next;              // The path of the next page of the microsecond `at`, or empty.
};

struct CopiedPage {
  CopiedPage() = default;
  CopiedPage(const CopiedPage&) = delete;
  CopiedPage& operator=(const CopiedPage&) = delete;

  std::string body;
  std::vector<EventLine> events;  // View the body.
};

class EventPages {
 public:
  // Begins at source.time.from where `place` lies before it. The client outlives it.
  EventPages(const PatientClient& client, EventSource source, PagePlace place);

  // False: there are no more, and the page is empty. A page may be empty in between.
  Result<bool> Next(CopiedPage* page);
  const PagePlace& place() const { return place_; }

 private:
  Status Read(std::string_view body, CopiedPage* page) const;
  void Adapt(const CopiedPage& page);

  const PatientClient& client_;
  const EventSource source_;
  PagePlace place_;
  uint64_t limit_;
};

}  // namespace tallyd

#endif  // TALLYD_TOOLS_COPY_EVENT_PAGES_H_

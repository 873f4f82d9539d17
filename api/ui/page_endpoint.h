// The page at /ui/: explore, plot, lint, heat map. Its files are open to all, with tokens, too, as
// they tell of no data: what the page then asks of the daemon goes through the other routes, with
// the token that its reader gave.
//
// Every answer on these paths, refusals included, has the policy by which a browser runs and asks
// nothing but what came from here, shows the page in no frame, and tells no site of its address.
#ifndef TALLYD_API_UI_PAGE_ENDPOINT_H_
#define TALLYD_API_UI_PAGE_ENDPOINT_H_

#include <memory>

#include "api/endpoint/endpoint.h"

namespace tallyd {

// GET /ui/ and GET /ui/{file}: the file, or, where none is named, index.html.
std::unique_ptr<Endpoint> MakePageFile(Exchange& exchange);
// GET /ui: 308 to /ui/, from which the page names its files. The address is relative, for proxies
// that serve the daemon below a path of their own.
std::unique_ptr<Endpoint> MakePageRedirect(Exchange& exchange);

}  // namespace tallyd

#endif  // TALLYD_API_UI_PAGE_ENDPOINT_H_

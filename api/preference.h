// What a client prefers, as Accept and Accept-Encoding say it (RFC 9110, section 12.4.2):
// "text/csv, application/json;q=0.5, */*;q=0.1". Pure functions over text that anybody may have
// sent.
#ifndef TALLYD_API_PREFERENCE_H_
#define TALLYD_API_PREFERENCE_H_

#include <string>
#include <string_view>
#include <vector>

namespace tallyd {

struct Preference {
  std::string name;   // In lower case: "text/csv", "gzip", "*".
  int weight = 1000;  // Thousandths; 0: not at all. A weight that is none counts as 0.
};

// In the order of the header; empty members are left out.
std::vector<Preference> ParsePreferences(std::string_view header);

}  // namespace tallyd

#endif  // TALLYD_API_PREFERENCE_H_

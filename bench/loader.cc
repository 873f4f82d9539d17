#include "bench/loader.h"

#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

namespace tallyd::bench {
namespace {

constexpr int kEventsAtOnce = 64;
constexpr int kRetriesMax = 1000;
constexpr auto kRetryPause = std::chrono::milliseconds(20);
constexpr auto kAnswerPatience = std::chrono::seconds(kPatienceSeconds);
constexpr double kQuerySecondsMax = 20;
constexpr auto kPacedLead = std::chrono::seconds(3);

[[noreturn]] void Fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

bool IsTurnedAway(const Response& response) {
  return response.status == 503 || response.status == 429;
}

// That this process may run on.
std::size_t Processors() {
  cpu_set_t allowed;
  const bool is_known = ::sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
  return is_known ? static_cast<std::size_t>(CPU_COUNT(&allowed)) : 1;
}

bool Succeeded(const Response& response) { return response.status / 100 == 2; }

bool IsAsExpected(const Response& response, int expected) {
  return expected == 0 ? Succeeded(response) : response.status == expected;
}

std::string Describe(const Response& response) {
  return "HTTP " + std::to_string(response.status) + ": " + response.body.substr(0, 500);
}

}  // namespace

// Which connections have an answer.
class Loader::Poller {
 public:
  Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (epoll_ < 0) Fail("epoll_create1");
  }
  ~Poller() { ::close(epoll_); }
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  void Add(int socket, Turn* turn) {
    epoll_event event{.events = EPOLLIN, .data = {.ptr = turn}};
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event) != 0) Fail("epoll_ctl");
  }
  // A socket that is closed is removed already.
  void Remove(int socket) {
    if (socket >= 0) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, socket, nullptr);
  }
  // One at least, unless `patience` ends, which only that of an answer must not.
  std::vector<Turn*> Wait(std::chrono::milliseconds patience) {
    epoll_event events[kEventsAtOnce];
    int count = 0;
    do {
      count = ::epoll_wait(epoll_, events, kEventsAtOnce, static_cast<int>(patience.count()));
    } while (count < 0 && errno == EINTR);
    if (count < 0) Fail("epoll_wait");
    if (count == 0 && patience >= kAnswerPatience) throw std::runtime_error("no answer comes");
    std::vector<Turn*> turns;
    for (int i = 0; i < count; ++i) turns.push_back(static_cast<Turn*>(events[i].data.ptr));
    return turns;
  }

 private:
  const int epoll_;
};

Loader::Loader(LoadOptions options) : options_(std::move(options)) {
  if (options_.entities > 0 && options_.entities < options_.connections) {
    throw std::invalid_argument("--entities: at least as many as --connections, which share them");
  }
  const auto source = MakeSource(options_.workload,
                                 {.entities = 1, .metrics = options_.metrics, .of = options_.of});
  stream_ = source->Stream();
  samples_per_event_ = source->SamplesPerEvent();
  if (options_.target.empty()) {
    options_.target = options_.format == Format::kNative ? "/v1/streams/" + stream_ + "/events"
                                                         : "/write?db=bench&precision=ms";
  }
  lanes_.resize(static_cast<std::size_t>(options_.connections));
}

void Loader::Prepare() {
  if (options_.rate > 0) return;
  std::vector<std::thread> threads;
  for (int i = 0; i < options_.connections; ++i) threads.emplace_back([this, i] { FillLane(i); });
  for (std::thread& thread : threads) thread.join();
}

SourceOptions Loader::SourceOf(int connection) const {
  return {.format = options_.format,
          .seed = options_.seed,
          .start_ms = options_.start_ms,
          .connection = connection,
          .connections = options_.connections,
          .entities = options_.entities,
          .metrics = options_.metrics,
          .of = options_.of,
          .tick_ms = options_.tick_ms};
}

void Loader::FillLane(int connection) {
  const auto source = MakeSource(options_.workload, SourceOf(connection));
  Lane& lane = lanes_[static_cast<std::size_t>(connection)];
  std::size_t longest = 0;
  for (std::int64_t i = connection; i < options_.requests; i += options_.connections) {
    std::string& body = lane.bodies.emplace_back();
    body.reserve(longest + longest / 64);
    source->FillBody(options_.events_per_request, &body);
    longest = std::max(longest, body.size());
  }
}

LoadResult Loader::Send(const Endpoint& endpoint) {
  // Everyone connects before the clock starts, so that it measures requests alone.
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < options_.connections; ++i) {
    clients.push_back(std::make_unique<HttpClient>(endpoint));
  }
  const bool is_paced = options_.rate > 0;
  const std::size_t thread_count = is_paced ? lanes_.size() : std::min(lanes_.size(), Processors());
  std::latch start(1);
  Clock::time_point began;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < thread_count; ++i) {
    std::vector<Turn> turns;
    for (std::size_t j = i; j < lanes_.size(); j += thread_count) {
      turns.push_back({.client = clients[j].get(), .lane = &lanes_[j]});
    }
    threads.emplace_back([this, i, is_paced, turns = std::move(turns), &start, &began] {
      start.wait();
      try {
        if (is_paced) {
          RunPaced(turns[0].client, static_cast<int>(i), began, turns[0].lane);
        } else {
          RunLanes(turns);
        }
      } catch (const std::exception& error) {
        turns[0].lane->failure = error.what();
      }
    });
  }
  began = Clock::now();
  start.count_down();
  for (std::thread& thread : threads) thread.join();
  LoadResult result;
  result.wall_seconds = SecondsBetween(began, Clock::now());
  for (const Lane& lane : lanes_) {
    if (!lane.failure.empty()) throw std::runtime_error(lane.failure);
    result.requests += lane.sent;
    result.body_bytes += lane.bytes;
    result.retries += lane.retries;
    result.late += lane.late;
    result.latency.Merge(lane.latency);
  }
  result.events = result.requests * options_.events_per_request;
  result.samples = result.events * samples_per_event_;
  return result;
}

void Loader::RunLanes(std::vector<Turn> turns) const {
  Poller poller;
  std::erase_if(turns, [](const Turn& turn) { return turn.lane->bodies.empty(); });
  for (Turn& turn : turns) {
    turn.began = Clock::now();
    Begin(&turn, &poller);
  }
  std::vector<Turn*> turned_away;
  for (std::size_t left = turns.size(); left > 0;) {
    for (Turn* turn : poller.Wait(turned_away.empty() ? kAnswerPatience : kRetryPause)) {
      if (Finish(turn, &poller)) --left;
      if (turn->tries > 0) turned_away.push_back(turn);
    }
    const auto now = Clock::now();
    for (Turn* turn : std::exchange(turned_away, {})) {
      if (turn->due > now) {
        turned_away.push_back(turn);
      } else {
        Begin(turn, &poller);
      }
    }
  }
}

void Loader::Begin(Turn* turn, Poller* poller) const {
  turn->client->BeginPost(options_.target, content_type(), turn->lane->bodies[turn->next]);
  if (turn->polled == turn->client->connections()) return;
  poller->Add(turn->client->socket(), turn);
  turn->polled = turn->client->connections();
}

bool Loader::Finish(Turn* turn, Poller* poller) const {
  const Response& response = turn->client->Finish();
  const auto now = Clock::now();
  if (IsTurnedAway(response) && turn->tries < kRetriesMax) {
    ++turn->tries;
    ++turn->lane->retries;
    turn->due = now + kRetryPause;
    return false;
  }
  const std::vector<std::string>& bodies = turn->lane->bodies;
  Take(response, bodies[turn->next], turn->began, turn->lane);
  turn->tries = 0;
  if (++turn->next == bodies.size()) {
    poller->Remove(turn->client->socket());
    return true;
  }
  turn->began = now;
  Begin(turn, poller);
  return false;
}

void Loader::RunPaced(HttpClient* client, int connection, Clock::time_point start,
                      Lane* lane) const {
  const auto source = MakeSource(options_.workload, SourceOf(connection));
  const std::chrono::duration<double> apart(options_.events_per_request / options_.rate);
  // The first bodies take longer to make than the rate allows: all begin a little later.
  start += kPacedLead;
  std::string body;
  for (std::int64_t i = connection; i < options_.requests; i += options_.connections) {
    body.clear();
    source->FillBody(options_.events_per_request, &body);
    const auto due =
        start + std::chrono::duration_cast<Clock::duration>(apart * static_cast<double>(i));
    std::this_thread::sleep_until(due);
    if (Clock::now() - due > std::chrono::seconds(1)) ++lane->late;
    Post(client, body, due, lane);
  }
}

void Loader::Post(HttpClient* client, const std::string& body, Clock::time_point began,
                  Lane* lane) const {
  const Response* response = &client->Post(options_.target, content_type(), body);
  for (int tries = 0; IsTurnedAway(*response) && tries < kRetriesMax; ++tries) {
    std::this_thread::sleep_for(kRetryPause);
    ++lane->retries;
    response = &client->Post(options_.target, content_type(), body);
  }
  Take(*response, body, began, lane);
}

// Pauses count into the request's time: pushing back is no way to a better figure.
void Loader::Take(const Response& response, const std::string& body, Clock::time_point began,
                  Lane* lane) const {
  lane->latency.Add(Clock::now() - began);
  if (!IsAsExpected(response, options_.expected_status)) {
    throw std::runtime_error(Describe(response));
  }
  ++lane->sent;
  lane->bytes += body.size();
}

QueryResult TimeQuery(HttpClient* client, std::string_view target, int repeat) {
  QueryResult result;
  Latency latency;
  const auto first = Clock::now();
  for (int i = 0; i <= 1 || (i <= repeat && SecondsBetween(first, Clock::now()) < kQuerySecondsMax);
       ++i) {
    const auto began = Clock::now();
    const Response& response = client->Get(target);
    if (i > 0) latency.Add(Clock::now() - began);
    if (!Succeeded(response)) throw std::runtime_error(Describe(response));
    result.answer_bytes = response.body.size();
  }
  result.median_ms = latency.Milliseconds(0.5);
  result.max_ms = latency.Milliseconds(1);
  return result;
}

}  // namespace tallyd::bench

#include "bench/loader.h"

#include <algorithm>
#include <chrono>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>

namespace tallyd::bench {
namespace {

constexpr int kRetriesMax = 1000;
constexpr auto kRetryPause = std::chrono::milliseconds(20);
constexpr double kQuerySecondsMax = 20;
constexpr auto kPacedLead = std::chrono::seconds(3);

bool Succeeded(const Response& response) { return response.status / 100 == 2; }

bool IsAsExpected(const Response& response, int expected) {
  return expected == 0 ? Succeeded(response) : response.status == expected;
}

std::string Describe(const Response& response) {
  return "HTTP " + std::to_string(response.status) + ": " + response.body.substr(0, 500);
}

}  // namespace

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
  std::latch start(1);
  Clock::time_point began;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    threads.emplace_back([this, i, &start, &began, client = clients[i].get(), lane = &lanes_[i]] {
      start.wait();
      try {
        if (options_.rate > 0) {
          RunPaced(client, static_cast<int>(i), began, lane);
        } else {
          RunLane(client, lane);
        }
      } catch (const std::exception& error) {
        lane->failure = error.what();
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

void Loader::RunLane(HttpClient* client, Lane* lane) const {
  for (const std::string& body : lane->bodies) Post(client, body, Clock::now(), lane);
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
  const std::string_view type =
      options_.format == Format::kNative ? "application/json" : "text/plain";
  const Response* response = &client->Post(options_.target, type, body);
  for (int tries = 0; (response->status == 503 || response->status == 429) && tries < kRetriesMax;
       ++tries) {
    // The pause counts into the request's time: pushing back is no way to a better figure.
    std::this_thread::sleep_for(kRetryPause);
    ++lane->retries;
    response = &client->Post(options_.target, type, body);
  }
  lane->latency.Add(Clock::now() - began);
  if (!IsAsExpected(*response, options_.expected_status)) {
    throw std::runtime_error(Describe(*response));
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

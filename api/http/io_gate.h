// IoGate: the way to an I/O thread for whoever may still come when its event loop has gone: what is
// posted then is dropped. Thread-safe; the loop's owner closes it before the loop is destroyed.
#ifndef TALLYD_API_HTTP_IO_GATE_H_
#define TALLYD_API_HTTP_IO_GATE_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <mutex>
#include <utility>

namespace tallyd {

class IoGate {
 public:
  explicit IoGate(boost::asio::io_context& io) : io_(&io) {}
  IoGate(const IoGate&) = delete;
  IoGate& operator=(const IoGate&) = delete;

  template <class Job>
  void Post(Job job) {
    const std::lock_guard lock(mutex_);
    if (io_ != nullptr) boost::asio::post(*io_, std::move(job));
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    io_ = nullptr;
  }

 private:
  std::mutex mutex_;
  boost::asio::io_context* io_;  // Guarded by mutex_.
};

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_IO_GATE_H_

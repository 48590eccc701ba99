#include "weftd/log_spdlog.h"

#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>

#include "io/clock.h"
#include "io/privileges.h"

namespace weft::daemon {
namespace {

constexpr std::size_t kQueue = 4096;  // lines; the oldest leave when nobody reads

spdlog::level::level_enum level_of(Level l) {
  switch (l) {
    case Level::trace:
      return spdlog::level::trace;
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warn:
      return spdlog::level::warn;
    case Level::error:
      break;
  }
  return spdlog::level::err;
}

/// Priorities of syslog(3), which the journal reads from the front of a line.
std::string_view journal_prefix(Level l) {
  switch (l) {
    case Level::trace:
    case Level::debug:
      return "<7>";
    case Level::info:
      return "<6>";
    case Level::warn:
      return "<4>";
    case Level::error:
      break;
  }
  return "<3>";
}

}  // namespace

struct SpdLog::Sink {
  bool journal = false;
  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<spdlog::async_logger> logger;
};

SpdLog::SpdLog(Level least) : sink_(std::make_unique<Sink>()), least_(least) {
  sink_->journal = std::getenv("JOURNAL_STREAM") != nullptr;
  sink_->pool = std::make_shared<spdlog::details::thread_pool>(kQueue, 1, io::drop_thread_privileges);
  sink_->logger =
      std::make_shared<spdlog::async_logger>("weftd", std::make_shared<spdlog::sinks::stderr_sink_mt>(),
                                             sink_->pool, spdlog::async_overflow_policy::overrun_oldest);
  sink_->logger->set_level(spdlog::level::trace);
  sink_->logger->set_pattern(sink_->journal ? "%v" : "%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  sink_->logger->flush_on(spdlog::level::trace);
}

SpdLog::~SpdLog() {
  sink_->logger->flush();
  sink_->logger.reset();
  sink_->pool.reset();  // writes what is queued, then ends its thread
}

void SpdLog::write(Level l, std::string_view topic, std::string_view text) {
  const std::string_view prefix = sink_->journal ? journal_prefix(l) : std::string_view{};
  if (topic.empty()) sink_->logger->log(level_of(l), "{}{}", prefix, text);
  else sink_->logger->log(level_of(l), "{}{}: {}", prefix, topic, text);
}

void SpdLog::always(Level l, std::string_view text) {
  if (wants(l)) write(l, {}, text);
}

void SpdLog::line(Level l, std::string_view topic, std::string_view text) {
  if (!wants(l)) return;
  if (l < Level::info) return write(l, topic, text);
  const Instant now = io::mono_now();
  const auto it = topics_.try_emplace(std::string(topic), Topic{now}).first;
  Topic& t = it->second;
  if (now - t.since >= kWindow) {
    if (t.left_out > 0) write(Level::warn, topic, fmt::format("{} more suppressed", t.left_out));
    t = {now};
  }
  if (++t.lines <= kLines) return write(l, topic, text);
  ++t.left_out;
}

void SpdLog::tick() {
  const Instant now = io::mono_now();
  for (auto& [topic, t] : topics_) {
    if (t.left_out == 0 || now - t.since < kWindow) continue;
    write(Level::warn, topic, fmt::format("{} more suppressed", t.left_out));
    t = {now};
  }
}

}  // namespace weft::daemon

#include "wire/report.h"

#include "wire/link_msg.h"

namespace weft::wire {
namespace {

// The reserved bytes are ignored: a later version may mean something by them.
Result<Reader, Drop> open(Bytes in, ReportForm form, LinkMsg type) noexcept {
  Reader r{in};
  if (form == ReportForm::session) {
    r.take(2);
    return r;
  }
  if (r.u8() != static_cast<std::uint8_t>(type)) return bad(r.ok() ? Drop::wrong_type : Drop::too_short);
  r.take(3);
  return r;
}

void put_head(Writer& w, ReportForm form, LinkMsg type) {
  if (form == ReportForm::link) w.u8(static_cast<std::uint8_t>(type)).u8(0);
  w.le<std::uint16_t>(0);
}

}  // namespace

Result<SenderReport, Drop> decode_sender_report(Bytes bytes, ReportForm form) noexcept {
  auto in = open(bytes, form, LinkMsg::sender_report);
  if (!in) return bad(in.error());
  SenderReport r;
  r.first_counter = in->le<std::uint64_t>();
  r.last_counter = in->le<std::uint64_t>();
  r.first_timestamp = in->le<std::uint32_t>();
  r.last_timestamp = in->le<std::uint32_t>();
  r.interval_bytes = in->le<std::uint32_t>();
  r.total_frames = in->le<std::uint64_t>();
  r.total_bytes = in->le<std::uint64_t>();
  if (!in->ok()) return bad(Drop::too_short);
  return r;
}

Result<ReceiverReport, Drop> decode_receiver_report(Bytes bytes, ReportForm form) noexcept {
  auto in = open(bytes, form, LinkMsg::receiver_report);
  if (!in) return bad(in.error());
  ReceiverReport r;
  r.highest_counter = in->le<std::uint64_t>();
  r.total_frames = in->le<std::uint64_t>();
  r.total_bytes = in->le<std::uint64_t>();
  r.timestamp_echo = in->le<std::uint32_t>();
  r.dwell_ms = in->le<std::uint16_t>();
  r.max_burst_loss = in->le<std::uint16_t>();
  r.mean_burst_loss = in->le<std::uint16_t>();
  in->take(2);
  r.jitter_us = in->le<std::uint32_t>();
  r.ce_count = in->le<std::uint32_t>();
  r.owd_trend = static_cast<std::int32_t>(in->le<std::uint32_t>());
  r.burst_count = in->le<std::uint32_t>();
  r.reordered = in->le<std::uint32_t>();
  r.interval_frames = in->le<std::uint32_t>();
  r.interval_bytes = in->le<std::uint32_t>();
  if (!in->ok()) return bad(Drop::too_short);
  return r;
}

void encode_sender_report(Buffer& out, const SenderReport& r, ReportForm form) {
  Writer w(out);
  put_head(w, form, LinkMsg::sender_report);
  w.le<std::uint64_t>(r.first_counter).le<std::uint64_t>(r.last_counter);
  w.le<std::uint32_t>(r.first_timestamp)
      .le<std::uint32_t>(r.last_timestamp)
      .le<std::uint32_t>(r.interval_bytes);
  w.le<std::uint64_t>(r.total_frames).le<std::uint64_t>(r.total_bytes);
}

void encode_receiver_report(Buffer& out, const ReceiverReport& r, ReportForm form) {
  Writer w(out);
  put_head(w, form, LinkMsg::receiver_report);
  w.le<std::uint64_t>(r.highest_counter).le<std::uint64_t>(r.total_frames).le<std::uint64_t>(r.total_bytes);
  w.le<std::uint32_t>(r.timestamp_echo).le<std::uint16_t>(r.dwell_ms);
  w.le<std::uint16_t>(r.max_burst_loss).le<std::uint16_t>(r.mean_burst_loss).le<std::uint16_t>(0);
  w.le<std::uint32_t>(r.jitter_us).le<std::uint32_t>(r.ce_count);
  w.le<std::uint32_t>(static_cast<std::uint32_t>(r.owd_trend)).le<std::uint32_t>(r.burst_count);
  w.le<std::uint32_t>(r.reordered).le<std::uint32_t>(r.interval_frames).le<std::uint32_t>(r.interval_bytes);
}

Result<PathMtuNotification, Drop> decode_path_mtu_notification(Bytes body) noexcept {
  if (body.size() < 2) return bad(Drop::too_short);
  return PathMtuNotification{load_le<std::uint16_t>(body.data())};
}

void encode_path_mtu_notification(Buffer& out, const PathMtuNotification& m) {
  Writer(out).le<std::uint16_t>(m.path_mtu);
}

}  // namespace weft::wire

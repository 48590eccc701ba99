#include "testing/fuzz/check.h"
#include "wire/report.h"

using namespace weft;
using namespace weft::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes in(data, size);
  for (const auto form : {ReportForm::link, ReportForm::session}) {
    fuzz::round_trip(
        in, [form](Bytes b) { return decode_sender_report(b, form); },
        [form](Buffer& out, const SenderReport& r) { encode_sender_report(out, r, form); });
    const auto again = fuzz::round_trip(
        in, [form](Bytes b) { return decode_receiver_report(b, form); },
        [form](Buffer& out, const ReceiverReport& r) { encode_receiver_report(out, r, form); });
    if (!again.empty())
      FUZZ_CHECK(again.size() == (form == ReportForm::link ? 68U : 66U) && again.size() <= size);
  }
  fuzz::check_begins_with(in,
                          fuzz::round_trip(in, decode_path_mtu_notification, encode_path_mtu_notification));
  return 0;
}

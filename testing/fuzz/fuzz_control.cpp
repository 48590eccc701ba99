// A request line of any bytes: always one JSON line back, and the node behind it stays as it was unless a peer was named.
#include <nlohmann/json.hpp>

#include "control/request.h"
#include "node/node.h"
#include "testing/fuzz/check.h"

using namespace weft;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static SeededRng rng(1);
  static NullLog log;
  static const Now now{Instant{1000s}, 1'700'000'000'000};
  NodeOptions options;
  options.transports = {{TransportId{1}, "udp", "", Endpoint::v4({192, 0, 2, 1}, 2121), 1280, true, true}};
  static Node node(std::move(options), crypto::Identity::generate(rng), rng, log, now);

  Outbox out;
  control::Context context{node, now, out, {}};
  context.shell.transports.emplace_back();
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const std::string reply = control::handle_request(line, context);
  FUZZ_CHECK(reply.find('\n') == std::string::npos);
  const auto j = nlohmann::json::parse(reply, nullptr, false);
  FUZZ_CHECK(j.is_object() && j.size() == 2 && j.contains("status"));
  FUZZ_CHECK(j.contains("data") == (j["status"] == "ok"));
  FUZZ_CHECK(j.contains("message") == (j["status"] == "error"));
  // What a line says is asked the same way whether its end came with it or not.
  if (size > 0 && size < control::kMaxRequest - 1 && j["status"] == "error" && out.empty()) {
    const std::string again = control::handle_request(std::string(line) + "\n", context);
    FUZZ_CHECK(again == reply);
  }
  return 0;
}

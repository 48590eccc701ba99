/// weft-sim: one mesh in virtual time, and what it cost.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <string_view>

#include "sim/report.h"

namespace {

using namespace weft;
using namespace weft::sim;

constexpr std::string_view kUsage =
    R"(weft-sim [OPTION=VALUE...]: runs a mesh of weft nodes in virtual time and reports

  --nodes=N         100
  --topology=NAME   geometric | random | line | ring | star | tree | grid | five
  --degree=D        mean number of neighbours, for geometric and random (4)
  --loss=P          per cent of datagrams lost on every link (0)
  --delay=MS        one way, per link (10)
  --jitter=MS       on top of it (0)
  --seconds=S       virtual time in all (60)
  --stagger=MS      nodes start within (1000)
  --pairs=N         pairs of nodes tried, both directions (200)
  --shards=N        encrypt and decrypt shards per node (1)
  --seed=N          1
  --log=LEVEL       0 trace .. 4 error; silent without
Exit: 0 when there is one root, every pair was reached and no oracle complains; else 1; 2 for a wrong option.
)";

template <class T>
bool read(std::string_view text, T& out) {
  const auto r = std::from_chars(text.data(), text.data() + text.size(), out);
  return r.ec == std::errc{} && r.ptr == text.data() + text.size();
}

bool parse(std::string_view arg, RunOptions& o) {
  const auto eq = arg.find('=');
  if (eq == std::string_view::npos) return false;
  const auto key = arg.substr(0, eq), value = arg.substr(eq + 1);
  const auto ms = [&](Duration& d) {
    double v = 0;
    if (!read(value, v) || v < 0) return false;
    d = Duration{static_cast<Duration::rep>(v * 1e6)};
    return true;
  };
  double v = 0;
  if (key == "--nodes") return read(value, o.nodes) && o.nodes > 0;
  if (key == "--topology") return o.topology = value, true;
  if (key == "--degree") return read(value, o.degree);
  if (key == "--loss") return read(value, v) && (o.link.loss = v / 100, true);
  if (key == "--delay") return ms(o.link.delay);
  if (key == "--jitter") return ms(o.link.jitter);
  if (key == "--seconds")
    return read(value, v) && (o.lasts = Duration{static_cast<Duration::rep>(v * 1e9)}, true);
  if (key == "--stagger") return ms(o.stagger);
  if (key == "--pairs") return read(value, o.pairs);
  if (key == "--shards") return read(value, o.shards) && o.shards > 0;
  if (key == "--seed") return read(value, o.seed);
  if (key == "--log") return read(value, o.log_level);
  return false;
}

void print(const RunReport& r) {
  const auto secs = [](std::optional<Duration> d) {
    return d ? fmt::format("{:.2f} s", static_cast<double>(d->count()) / 1e9) : std::string("never");
  };
  fmt::print("nodes {}, links {}, mean degree {:.2f}, diameter {} hops\n", r.nodes, r.links, r.mean_degree,
             r.diameter);
  fmt::print("one root after        {}\n", secs(r.one_root));
  fmt::print("all {} pairs after   {}{}\n", r.pairs, secs(r.all_pairs),
             r.missing ? fmt::format(" ({} missing)", r.missing) : "");
  fmt::print("first packet          median {} ms, worst {} ms\n", to_ms(r.first_median),
             to_ms(r.first_worst));
  fmt::print("tree depth            mean {:.1f}, worst {}\n", r.depth_mean, r.depth_worst);
  fmt::print("route stretch         mean {:.3f}, worst {:.2f} (over {} pairs)\n", r.stretch_mean,
             r.stretch_worst, r.stretch_pairs);
  fmt::print("control, all of it    {:.0f} bytes per node and second\n", r.control_rate);
  fmt::print("control, at rest      {:.0f} bytes per node and second (last {} s)\n", r.rest_rate,
             to_ms(r.rest_window) / 1000);
  for (const auto& [name, all, rest] : r.by_kind)
    fmt::print("  {:<19} {:8.1f} {:8.1f} at rest\n", name, all, rest);
  fmt::print("largest node at rest  {:.0f} bytes per second\n", r.rest_worst);
  fmt::print("events {}, seals {}, keys {}\n", r.events, r.seals, r.keys);
  fmt::print("trace {:016x}\n", r.trace);
  if (!r.complaint.empty()) fmt::print("complaint: {}\n", r.complaint);
}

}  // namespace

int main(int argc, char** argv) {
  RunOptions o;
  for (int i = 1; i < argc; ++i) {
    if (!parse(argv[i], o)) {
      std::fputs(kUsage.data(), stderr);
      return 2;
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto report = run(o);
  if (!report) {
    fmt::print(stderr, "{}\n", report.error());
    return 2;
  }
  print(*report);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  fmt::print("wall {:.2f} s\n", took.count());
  return report->complaint.empty() ? 0 : 1;
}

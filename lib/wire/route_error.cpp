#include "wire/route_error.h"

#include "wire/prefix.h"

namespace weft::wire {
namespace {

constexpr std::uint8_t kFlagPlain = 0x04;
constexpr std::uint8_t kCoordsRequired = 0x20;
constexpr std::uint8_t kPathBroken = 0x21;
constexpr std::uint8_t kMtuExceeded = 0x22;
constexpr std::size_t kCommon = 34;  // type, reserved, two addresses

template <class M>
void encode_common(Buffer& out, const M& m, std::uint8_t type, std::size_t more) {
  encode_prefix(out, {0, 0, kFlagPlain, static_cast<std::uint16_t>(kCommon + more)});
  Writer(out).u8(type).u8(0).raw(m.dest.bytes).raw(m.reporter.bytes);
}

void encode(Buffer& out, const CoordsRequired& m) { encode_common(out, m, kCoordsRequired, 0); }

void encode(Buffer& out, const PathBroken& m) {
  encode_common(out, m, kPathBroken, coords_size(m.last_known.size()));
  put_path(out, m.last_known);
}

void encode(Buffer& out, const MtuExceeded& m) {
  encode_common(out, m, kMtuExceeded, 2);
  Writer(out).le<std::uint16_t>(m.mtu);
}

}  // namespace

const NodeAddr& dest_of(const RouteError& e) {
  return std::visit([](const auto& m) -> const NodeAddr& { return m.dest; }, e);
}

const NodeAddr& reporter_of(const RouteError& e) {
  return std::visit([](const auto& m) -> const NodeAddr& { return m.reporter; }, e);
}

Result<RouteError, Drop> decode_route_error(Bytes payload) {
  const auto p = decode_prefix(payload);
  if (!p) return bad(p.error());
  if (p->version != 0) return bad(Drop::wrong_version);
  if (p->phase != 0) return bad(Drop::unknown_phase);
  if ((p->flags & kFlagPlain) == 0) return bad(Drop::bad_flags);
  Reader in{payload.subspan(kPrefix)};
  const auto type = in.u8();
  in.u8();  // reserved
  NodeAddr dest;
  NodeAddr reporter;
  dest.bytes = in.array<16>();
  reporter.bytes = in.array<16>();
  if (!in.ok()) return bad(Drop::too_short);
  switch (type) {
    case kCoordsRequired:
      return CoordsRequired{dest, reporter};
    case kPathBroken: {
      auto path = read_path(in, CoordForm::optional);
      if (!path) return bad(path.error());
      return PathBroken{dest, reporter, std::move(*path)};
    }
    case kMtuExceeded: {
      const auto mtu = in.le<std::uint16_t>();
      if (!in.ok()) return bad(Drop::too_short);
      return MtuExceeded{dest, reporter, mtu};
    }
    default:
      return bad(Drop::unknown_signal);
  }
}

void encode_route_error(Buffer& out, const RouteError& e) {
  std::visit([&out](const auto& m) { encode(out, m); }, e);
}

}  // namespace weft::wire

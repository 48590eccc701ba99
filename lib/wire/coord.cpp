#include "wire/coord.h"

namespace weft::wire {

Path CoordView::path() const {
  Path out(size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = (*this)[i];
  return out;
}

Result<CoordView, Drop> read_coords(Reader& in, CoordForm form) noexcept {
  const std::size_t n = in.le<std::uint16_t>();
  if (!in.ok()) return bad(Drop::too_short);
  if (n == 0 && form == CoordForm::strict) return bad(Drop::bad_count);
  if (in.left() < 16 * n) return bad(Drop::bad_count);
  if (n > kMaxCoords) return bad(Drop::path_too_long);
  return CoordView(in.take(16 * n));
}

Result<Path, Drop> read_path(Reader& in, CoordForm form) {
  const auto view = read_coords(in, form);
  if (!view) return bad(view.error());
  return view->path();
}

void put_path(Buffer& out, const Path& path) {
  const auto at = out.size();
  out.resize(at + coords_size(path.size()));
  write_path(MutBytes(out).subspan(at), path);
}

std::size_t write_path(MutBytes out, const Path& path) noexcept {
  const auto size = coords_size(path.size());
  std::uint8_t* p = out.first(size).data();
  store_le<std::uint16_t>(p, static_cast<std::uint16_t>(path.size()));
  p += 2;
  for (const auto& a : path) {
    std::memcpy(p, a.bytes.data(), 16);
    p += 16;
  }
  return size;
}

}  // namespace weft::wire

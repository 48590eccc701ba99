/// Links, sessions and routes as one worker knows them: what the core said, nothing found out.
///
/// Pointers  stay good until the next apply() that names or flushes their thing; so no burst may be open
///           across one.
/// Thread    one owner. Cost: a lookup is one hash probe, or one comparison when the last packet asked the
///           same.
#pragma once

#include <unordered_map>

#include "base/ids.h"
#include "seam/command.h"

namespace weft {

struct LinkEntry {
  LinkSend send;
  // Egress's chain of the burst's frames; empty between bursts.
  std::uint32_t first_frame = 0;
  std::uint32_t last_frame = 0;
  std::uint32_t frames = 0;
};

struct RouteEntry {
  LinkEntry* link = nullptr;
  HopClass how = HopClass::direct_peer;
  Instant refresh_after;
  bool told_stale = false;
};

struct SessionEntry {
  SessionSend send;
  MeshAddr mesh;
  RouteEntry* route = nullptr;  // as of route_version
  std::uint64_t route_version = 0;
};

class Tables {
 public:
  /// Takes any Broadcast kind; false (and nothing done) for the others.
  bool apply(const Command& command);

  LinkEntry* link(LinkId id);
  SessionEntry* session(const NodeAddr& remote);
  SessionEntry* session(const MeshAddr& address);
  RouteEntry* route(const NodeAddr& dest);
  RouteEntry* route(SessionEntry& session);
  const SetLocal& local() const { return local_; }

 private:
  /// Routes are the core's cache; this only bounds what a core in error could make us keep.
  static constexpr std::size_t kMaxRoutes = 200'000;

  void set(const SetLink& c);
  void set(const SetSession& c);
  void set(const SetRoute& c);
  void drop_link(LinkId id);
  void drop_session(const NodeAddr& remote);
  void forget_last();

  std::unordered_map<LinkId, LinkEntry> links_;
  std::unordered_map<NodeAddr, SessionEntry> sessions_;
  std::unordered_map<MeshAddr, SessionEntry*> by_mesh_;
  std::unordered_map<NodeAddr, RouteEntry> routes_;
  SetLocal local_;
  std::uint64_t version_ = 1;
  NodeAddr last_dest_;
  RouteEntry* last_route_ = nullptr;
  MeshAddr last_mesh_;
  SessionEntry* last_session_ = nullptr;
};

}  // namespace weft

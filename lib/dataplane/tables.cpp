#include "dataplane/tables.h"

namespace weft {

bool Tables::apply(const Command& command) {
  const bool known = std::visit(
      [this](const auto& c) {
        using C = std::decay_t<decltype(c)>;
        if constexpr (std::is_same_v<C, SetLink> || std::is_same_v<C, SetSession> ||
                      std::is_same_v<C, SetRoute>)
          set(c);
        else if constexpr (std::is_same_v<C, DropLink>) drop_link(c.link);
        else if constexpr (std::is_same_v<C, DropSession>) drop_session(c.remote);
        else if constexpr (std::is_same_v<C, DropRoute>) routes_.erase(c.dest);
        else if constexpr (std::is_same_v<C, FlushRoutes>) routes_.clear();
        else if constexpr (std::is_same_v<C, SetLocal>) local_ = c;
        else return false;
        return true;
      },
      command);
  if (known) forget_last();
  return known;
}

void Tables::set(const SetLink& c) { links_[c.send.link].send = c.send; }

void Tables::set(const SetSession& c) {
  SessionEntry& s = sessions_[c.send.remote];
  s.send = c.send;
  s.mesh = mesh_addr_of(c.send.remote);
  by_mesh_[s.mesh] = &s;
}

void Tables::set(const SetRoute& c) {
  LinkEntry* via = link(c.link);
  if (via == nullptr) {  // a route over nothing is no route
    routes_.erase(c.dest);
    return;
  }
  if (routes_.size() >= kMaxRoutes && !routes_.contains(c.dest)) routes_.clear();
  routes_[c.dest] = RouteEntry{via, c.how, c.refresh_after, false};
}

void Tables::drop_link(LinkId id) {
  const auto it = links_.find(id);
  if (it == links_.end()) return;
  std::erase_if(routes_, [&](const auto& r) { return r.second.link == &it->second; });
  links_.erase(it);
}

void Tables::drop_session(const NodeAddr& remote) {
  const auto it = sessions_.find(remote);
  if (it == sessions_.end()) return;
  const auto by = by_mesh_.find(it->second.mesh);
  if (by != by_mesh_.end() && by->second == &it->second) by_mesh_.erase(by);
  sessions_.erase(it);
}

void Tables::forget_last() {
  ++version_;
  last_route_ = nullptr;
  last_session_ = nullptr;
}

LinkEntry* Tables::link(LinkId id) {
  const auto it = links_.find(id);
  return it == links_.end() ? nullptr : &it->second;
}

SessionEntry* Tables::session(const NodeAddr& remote) {
  const auto it = sessions_.find(remote);
  return it == sessions_.end() ? nullptr : &it->second;
}

SessionEntry* Tables::session(const MeshAddr& address) {
  if (last_session_ != nullptr && last_mesh_ == address) return last_session_;
  const auto it = by_mesh_.find(address);
  if (it == by_mesh_.end()) return nullptr;
  last_mesh_ = address;
  return last_session_ = it->second;
}

RouteEntry* Tables::route(const NodeAddr& dest) {
  if (last_route_ != nullptr && last_dest_ == dest) return last_route_;
  const auto it = routes_.find(dest);
  if (it == routes_.end()) return nullptr;
  last_dest_ = dest;
  return last_route_ = &it->second;
}

RouteEntry* Tables::route(SessionEntry& session) {
  if (session.route_version != version_) {
    session.route = route(session.send.remote);
    session.route_version = version_;
  }
  return session.route;
}

}  // namespace weft

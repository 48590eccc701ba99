/// The control thread's loop: lends the node time, punts, answers and signals, and carries out what it wants done.
///
/// Life     run() returns when a signal asked for the end and the goodbyes are handed to the workers, or when the packet
///          path broke. Stop the workers afterwards.
/// Thread   the caller's. SIGTERM, SIGINT and SIGHUP must be blocked before the first thread starts; run() takes them.
#pragma once

#include <memory>

#include "io/notify.h"
#include "node/node.h"
#include "weftd/firewall.h"
#include "weftd/log_spdlog.h"
#include "weftd/status_view.h"

namespace weft::daemon {

class ControlThread {
 public:
  struct Parts {
    Node& node;
    Workers& workers;
    std::vector<UdpPort>& ports;
    MeshInterface* mesh;  // may be null
    Firewall* firewall;   // null without an interface
    Settings& settings;
    const ChosenIdentity& identity;
    std::size_t most_link_sockets;
    std::optional<std::string> config_file;  // as on the command line, for reloads
    Now started;
    SpdLog& log;
  };
  explicit ControlThread(Parts parts);
  ~ControlThread();

  /// Control socket, name responder, signals: all that run() needs from the system. Before other threads start, so that
  /// privileges can be given up in between.
  void open();
  /// 0: asked to end. 1: the packet path broke; the log says how.
  int run();
  /// Path of the open control socket; empty when there is none.
  std::string control_socket() const;
  /// A name look-up still hangs in the system's resolver, which cannot be called off.
  bool resolver_hangs() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::daemon

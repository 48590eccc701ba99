#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "io/file.h"
#include "io/netlink_linux.h"
#include "io/tun_device.h"

namespace weft::io {
namespace {

constexpr unsigned kTunUso4 = 0x20;  // newer than this system's headers
constexpr unsigned kTunUso6 = 0x40;
constexpr std::size_t kMaxPieces = 255;

constexpr std::string_view kNeedsCapability =
    "creating an interface needs CAP_NET_ADMIN: start the daemon as root or by its systemd unit, or set "
    "tun.enabled: "
    "false to run as a router only";

constexpr std::string_view kNotForThisUser =
    "the mode of the device file keeps this user out: `chmod 666 /dev/net/tun`, as udev does (CAP_NET_ADMIN "
    "is asked for besides), or start the daemon as root";
constexpr std::string_view kWithheld =
    "the container or the service withholds the device: allow it (docker: --device /dev/net/tun, systemd: "
    "DeviceAllow=/dev/net/tun rw)";

// '%' would be a pattern to the kernel, the others are no names to it.
bool is_interface_name(const std::string& name) {
  if (name.empty() || name.size() >= IFNAMSIZ || name == "." || name == ".." || name == "all" ||
      name == "default")
    return false;
  for (const char c : name)
    if (c <= ' ' || c > '~' || c == '/' || c == ':' || c == '%') return false;
  return true;
}

Result<Fd, Failure> open_clone_device() {
  Fd fd(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (fd) return fd;
  const int error = errno;
  if (error == ENOENT || error == ENXIO || error == ENODEV)
    return bad(os_failure(error, "no /dev/net/tun",
                          "load the module (`modprobe tun`), or give the container the device"));
  return bad(os_failure(error, "opening /dev/net/tun",
                        error == EACCES  ? kNotForThisUser
                        : error == EPERM ? kWithheld
                                         : ""));
}

int attach(int fd, const std::string& name, int flags) {
  ifreq r{};
  name.copy(r.ifr_name, IFNAMSIZ - 1);
  r.ifr_flags = static_cast<short>(flags);
  return ioctl(fd, TUNSETIFF, &r) == 0 ? 0 : errno;
}

// The flags under which an existing interface is ours to take over; the sentence why it is not.
Result<int, Failure> flags_to_reuse(const std::string& name) {
  const std::string what = "interface " + name + " exists already";
  const auto info = tun_info(name);
  if (!info) return bad(os_failure(EBUSY, what));
  if (!info->is_tun)
    return bad(
        os_failure(0, what + " and is no TUN interface", "choose another tun.name, or delete it yourself"));
  if (info->in_use || !info->persistent)
    return bad(os_failure(0, what + " and a running program has it open",
                          "stop that program (another weft?), or choose another tun.name"));
  if (!info->owner || *info->owner != geteuid())
    return bad(
        os_failure(0, what + " and belongs to another user",
                   "choose another tun.name, or delete it yourself with `ip link delete " + name + "`"));
  return info->multi_queue ? IFF_MULTI_QUEUE : 0;
}

// The richest set that this kernel takes. It knows UDP offload only for both IP versions at once.
void set_offload(int fd, TunFeatures& f) {
  constexpr unsigned kTcp = TUN_F_CSUM | TUN_F_TSO6;
  constexpr unsigned kUdp = kTunUso4 | kTunUso6;
  struct Step {
    unsigned bits;
    bool tcp;
    bool udp;
  };
  for (const Step s : {Step{kTcp | TUN_F_TSO_ECN | kUdp, true, true}, Step{kTcp | TUN_F_TSO_ECN, true, false},
                       Step{kTcp, true, false}, Step{TUN_F_CSUM, false, false}}) {
    if (ioctl(fd, TUNSETOFFLOAD, static_cast<unsigned long>(s.bits)) != 0) continue;
    f.checksum = true;
    f.tcp = s.tcp;
    f.udp = s.udp;
    return;
  }
}

bool set_vnet_format(int fd) {
  int size = offload::kVnetHeaderBytes;
  int little = 1;
  return ioctl(fd, TUNSETVNETHDRSZ, &size) == 0 && ioctl(fd, TUNSETVNETLE, &little) == 0;
}

bool kernel_has(int fd, unsigned flag) {
  unsigned features = 0;
  return ioctl(fd, TUNGETFEATURES, &features) == 0 && (features & flag) != 0;
}

TunStatus read_status(int error) {
  switch (error) {
    case EAGAIN:
    case EINTR:
      return TunStatus::would_block;
    case EIO:     // being deleted
    case EBADFD:  // deleted
    case EBADF:
      return TunStatus::gone;
    default:
      return TunStatus::other;
  }
}

TunStatus write_status(int error) {
  switch (error) {
    case EAGAIN:
      return TunStatus::would_block;
    case EIO:
      return TunStatus::down;
    case EBADFD:
    case EBADF:
      return TunStatus::gone;
    case EINVAL:
    case EMSGSIZE:
    case E2BIG:
      return TunStatus::refused;
    default:
      return TunStatus::other;
  }
}

}  // namespace

Result<TunDevice, Failure> TunDevice::open(const TunOptions& o) {
  if (!is_interface_name(o.name))
    return bad(
        os_failure(0, "\"" + o.name + "\" is no interface name", "use 1 to 15 letters, digits, '-' or '_'"));
  if (auto ok = check_ipv6_enabled(); !ok) return bad(ok.error());
  auto first = open_clone_device();
  if (!first) return bad(first.error());

  TunDevice d;
  d.name_ = o.name;
  d.features_.vnet_header = o.offload && kernel_has(first->get(), IFF_VNET_HDR);
  const unsigned wanted = kernel_has(first->get(), IFF_MULTI_QUEUE) ? std::max(o.queues, 1U) : 1U;
  const int base = IFF_TUN | IFF_NO_PI | (d.features_.vnet_header ? IFF_VNET_HDR : 0);
  int flags = base | (wanted > 1 ? IFF_MULTI_QUEUE : 0);
  // Without EXCL the kernel would make us one more queue of somebody else's multi-queue interface.
  int error = attach(first->get(), o.name, flags | IFF_TUN_EXCL);
  if (error == EBUSY || error == EEXIST) {
    auto reuse = flags_to_reuse(o.name);
    if (!reuse) return bad(reuse.error());
    flags = base | *reuse;
    error = attach(first->get(), o.name, flags);
  }
  if (error != 0)
    return bad(os_failure(error, "creating interface " + o.name, error == EPERM ? kNeedsCapability : ""));
  if (d.features_.vnet_header) {
    if (!set_vnet_format(first->get())) {  // an old kernel: single packets, then
      first->reset();
      TunOptions plain = o;
      plain.offload = false;
      return open(plain);
    }
    set_offload(first->get(), d.features_);
  }
  d.queues_.push_back(TunQueue(std::move(*first), d.features_.vnet_header));
  while (d.queues_.size() < wanted && (flags & IFF_MULTI_QUEUE)) {
    auto more = open_clone_device();
    if (!more) break;
    if (attach(more->get(), o.name, flags) != 0) break;  // it goes with fewer
    d.queues_.push_back(TunQueue(std::move(*more), d.features_.vnet_header));
  }
  d.index_ = if_nametoindex(o.name.c_str());
  if (auto ok = check_ipv6_enabled(o.name); !ok) return bad(ok.error());
  return d;
}

TunQueue::Read TunQueue::read(MutBytes packet) {
  std::array<std::uint8_t, offload::kVnetHeaderBytes> header{};
  const std::array<iovec, 2> parts{{{header.data(), header.size()}, {packet.data(), packet.size()}}};
  const std::size_t skip = vnet_ ? 0 : 1;
  const auto n = readv(fd_.get(), parts.data() + skip, static_cast<int>(2 - skip));
  Read r;
  if (n < 0) {
    r.error = errno;
    r.status = read_status(r.error);
    return r;
  }
  const std::size_t got = static_cast<std::size_t>(n);
  const std::size_t head = vnet_ ? header.size() : 0;
  if (got < head) {
    r.status = TunStatus::other;
    return r;
  }
  r.vnet = offload::VnetHeader::decode(header);
  r.size = got - head;
  return r;
}

TunStatus TunQueue::write(const offload::VnetHeader& vnet, std::span<const Bytes> pieces) {
  if (pieces.size() > kMaxPieces || (!vnet_ && vnet != offload::VnetHeader{})) return TunStatus::refused;
  auto header = vnet.encode();
  std::array<iovec, kMaxPieces + 1> parts;
  std::size_t n = 0;
  if (vnet_) parts[n++] = {header.data(), header.size()};
  for (const Bytes b : pieces) parts[n++] = {const_cast<std::uint8_t*>(b.data()), b.size()};
  for (;;) {
    if (writev(fd_.get(), parts.data(), static_cast<int>(n)) >= 0) return TunStatus::ok;
    if (errno != EINTR) return write_status(errno);
  }
}

Result<void, Failure> check_ipv6_enabled(const std::string& interface, const std::string& conf) {
  const auto text = read_text_file(conf + "/" + interface + "/disable_ipv6", 64);
  if (!text)
    return bad(
        os_failure(0, "this kernel runs without IPv6", "the mesh is IPv6: boot without ipv6.disable=1"));
  if (text->empty() || (*text)[0] == '0') return {};
  const std::string key = "net.ipv6.conf." + interface + ".disable_ipv6";
  return bad(
      os_failure(0, "IPv6 is switched off (" + key + ")",
                 "run `sysctl -w " + key + "=0" +
                     (interface == "all" ? "`" : "` and the same for net.ipv6.conf.default.disable_ipv6")));
}

}  // namespace weft::io

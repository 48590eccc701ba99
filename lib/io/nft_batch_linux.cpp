#include "io/nft_batch_linux.h"

#include <arpa/inet.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/object.h>
#include <libnftnl/rule.h>
#include <libnftnl/table.h>
#include <libnftnl/udata.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <net/if.h>
#include <netinet/in.h>

#include <memory>

namespace weft::io {
namespace {

using firewall::Rule;

constexpr std::uint32_t kOwned = 2;                     // NFT_TABLE_F_OWNER, which older headers do not name
constexpr std::uint32_t kEstablishedOrRelated = 2 | 4;  // NF_CT_STATE_BIT of either
constexpr std::uint32_t kSourceOffset = 8, kDestinationPortOffset = 2;

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* p) const {
    Free(p);
  }
};
using Table = std::unique_ptr<nftnl_table, Freer<nftnl_table_free>>;
using Chain = std::unique_ptr<nftnl_chain, Freer<nftnl_chain_free>>;
using Object = std::unique_ptr<nftnl_obj, Freer<nftnl_obj_free>>;
using KernelRule = std::unique_ptr<nftnl_rule, Freer<nftnl_rule_free>>;
using Udata = std::unique_ptr<nftnl_udata_buf, Freer<nftnl_udata_buf_free>>;

/// Adds expressions to one rule, which owns them.
class Expressions {
 public:
  explicit Expressions(nftnl_rule* rule) : rule_(rule) {}

  void meta(std::uint32_t key) {
    nftnl_expr* const e = make("meta");
    nftnl_expr_set_u32(e, NFTNL_EXPR_META_DREG, NFT_REG_1);
    nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, key);
  }
  void payload(std::uint32_t base, std::uint32_t offset, std::uint32_t bytes) {
    nftnl_expr* const e = make("payload");
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_BASE, base);
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
    nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_LEN, bytes);
  }
  void compare(std::uint32_t op, const void* data, std::uint32_t bytes) {
    nftnl_expr* const e = make("cmp");
    nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
    nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_OP, op);
    nftnl_expr_set(e, NFTNL_EXPR_CMP_DATA, data, bytes);
  }
  void is_byte(std::uint8_t value) { compare(NFT_CMP_EQ, &value, 1); }
  void interface(std::uint32_t key, std::uint32_t op, const std::string& name) {
    std::array<char, IFNAMSIZ> padded{};
    name.copy(padded.data(), padded.size() - 1);
    meta(key);
    compare(op, padded.data(), padded.size());
  }
  void ipv6() {
    meta(NFT_META_NFPROTO);
    is_byte(NFPROTO_IPV6);
  }
  void reply() {
    nftnl_expr* const state = make("ct");
    nftnl_expr_set_u32(state, NFTNL_EXPR_CT_DREG, NFT_REG_1);
    nftnl_expr_set_u32(state, NFTNL_EXPR_CT_KEY, NFT_CT_STATE);
    const std::uint32_t mask = kEstablishedOrRelated, none = 0;
    nftnl_expr* const bits = make("bitwise");
    nftnl_expr_set_u32(bits, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
    nftnl_expr_set_u32(bits, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
    nftnl_expr_set_u32(bits, NFTNL_EXPR_BITWISE_LEN, sizeof mask);
    nftnl_expr_set(bits, NFTNL_EXPR_BITWISE_MASK, &mask, sizeof mask);
    nftnl_expr_set(bits, NFTNL_EXPR_BITWISE_XOR, &none, sizeof none);
    compare(NFT_CMP_NEQ, &none, sizeof none);
  }
  void limit(const firewall::Rate& rate) {
    nftnl_expr* const e = make("limit");
    nftnl_expr_set_u64(e, NFTNL_EXPR_LIMIT_RATE, rate.per_second);
    nftnl_expr_set_u64(e, NFTNL_EXPR_LIMIT_UNIT, 1);  // second
    nftnl_expr_set_u32(e, NFTNL_EXPR_LIMIT_BURST, rate.burst);
    nftnl_expr_set_u32(e, NFTNL_EXPR_LIMIT_TYPE, NFT_LIMIT_PKTS);
    nftnl_expr_set_u32(e, NFTNL_EXPR_LIMIT_FLAGS, 0);
  }
  void ports(const config::PortRule& p) {
    meta(NFT_META_L4PROTO);
    is_byte(p.proto == config::ForwardProto::tcp ? IPPROTO_TCP : IPPROTO_UDP);
    payload(NFT_PAYLOAD_TRANSPORT_HEADER, kDestinationPortOffset, 2);
    const std::uint16_t first = htons(p.first), last = htons(p.last);
    if (p.first == p.last) return compare(NFT_CMP_EQ, &first, sizeof first);
    compare(NFT_CMP_GTE, &first, sizeof first);
    compare(NFT_CMP_LTE, &last, sizeof last);
  }
  void count(firewall::Tally tally) {
    nftnl_expr* const e = make("objref");
    nftnl_expr_set_u32(e, NFTNL_EXPR_OBJREF_IMM_TYPE, NFT_OBJECT_COUNTER);
    nftnl_expr_set_str(e, NFTNL_EXPR_OBJREF_IMM_NAME, std::string(name_of(tally)).c_str());
  }
  void verdict(firewall::Verdict v) {
    nftnl_expr* const e = make("immediate");
    nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
    nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_VERDICT, v == firewall::Verdict::accept ? NF_ACCEPT : NF_DROP);
  }

 private:
  nftnl_expr* make(const char* kind) {
    nftnl_expr* const e = nftnl_expr_alloc(kind);
    if (e == nullptr) throw std::bad_alloc();
    nftnl_rule_add_expr(rule_, e);
    return e;
  }
  nftnl_rule* rule_;
};

void add_conditions(Expressions& x, const Rule& r, const std::string& interface) {
  switch (r.side) {
    case Rule::Side::any:
      break;
    case Rule::Side::in_mesh:
      x.interface(NFT_META_IIFNAME, NFT_CMP_EQ, interface);
      break;
    case Rule::Side::in_other:
      x.interface(NFT_META_IIFNAME, NFT_CMP_NEQ, interface);
      break;
    case Rule::Side::out_mesh:
      x.interface(NFT_META_OIFNAME, NFT_CMP_EQ, interface);
      break;
  }
  if (r.reply) x.reply();
  if (r.icmp6 || r.from) x.ipv6();
  if (r.icmp6) {
    x.meta(NFT_META_L4PROTO);
    x.is_byte(IPPROTO_ICMPV6);
    x.payload(NFT_PAYLOAD_TRANSPORT_HEADER, 0, 1);
    x.is_byte(*r.icmp6);
  }
  if (r.from) {
    x.payload(NFT_PAYLOAD_NETWORK_HEADER, kSourceOffset, static_cast<std::uint32_t>(r.from->bytes.size()));
    x.compare(NFT_CMP_EQ, r.from->bytes.data(), static_cast<std::uint32_t>(r.from->bytes.size()));
  }
  if (r.ports) x.ports(*r.ports);
  if (r.rate) x.limit(*r.rate);
}

void set_comment(nftnl_rule* rule, const std::string& text) {
  const Udata data(nftnl_udata_buf_alloc(NFT_USERDATA_MAXLEN));
  if (!data || !nftnl_udata_put_strz(data.get(), NFTNL_UDATA_RULE_COMMENT, text.c_str())) return;
  nftnl_rule_set_data(rule, NFTNL_RULE_USERDATA, nftnl_udata_buf_data(data.get()),
                      nftnl_udata_buf_len(data.get()));
}

template <class T>
T checked(T p) {
  if (!p) throw std::bad_alloc();
  return p;
}

}  // namespace

NftBatch::NftBatch(std::uint32_t sequence) : first_(sequence), sequence_(sequence) {
  append(nftnl_batch_begin(scratch_.data(), sequence_), "batch");
}

void NftBatch::append(const nlmsghdr* m, std::string_view step) {
  bytes_.insert(bytes_.end(), scratch_.data(), scratch_.data() + NLMSG_ALIGN(m->nlmsg_len));
  steps_.push_back(step);
  ++sequence_;
}

template <class Build>
void NftBatch::add(std::uint16_t type, std::uint16_t flags, std::string_view step, Build build) {
  scratch_.fill(0);
  nlmsghdr* const m = nftnl_nlmsg_build_hdr(scratch_.data(), type, NFPROTO_INET, flags, sequence_);
  build(m);
  append(m, step);
}

void NftBatch::delete_table() {
  // Acknowledged, so that silence is not taken for success.
  add(NFT_MSG_DELTABLE, NLM_F_ACK, "old table", [](nlmsghdr* m) {
    const Table t = checked(Table(nftnl_table_alloc()));
    nftnl_table_set_str(t.get(), NFTNL_TABLE_NAME, kNftTable);
    nftnl_table_nlmsg_build_payload(m, t.get());
  });
}

void NftBatch::add_table(bool owned) {
  add(NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, "table", [&](nlmsghdr* m) {
    const Table t = checked(Table(nftnl_table_alloc()));
    nftnl_table_set_str(t.get(), NFTNL_TABLE_NAME, kNftTable);
    nftnl_table_set_u32(t.get(), NFTNL_TABLE_FLAGS, owned ? kOwned : 0);
    nftnl_table_nlmsg_build_payload(m, t.get());
  });
}

void NftBatch::add_chain(const char* name, std::uint32_t hook) {
  add(NFT_MSG_NEWCHAIN, NLM_F_CREATE | NLM_F_EXCL, "chain", [&](nlmsghdr* m) {
    const Chain c = checked(Chain(nftnl_chain_alloc()));
    nftnl_chain_set_str(c.get(), NFTNL_CHAIN_TABLE, kNftTable);
    nftnl_chain_set_str(c.get(), NFTNL_CHAIN_NAME, name);
    nftnl_chain_set_str(c.get(), NFTNL_CHAIN_TYPE, "filter");
    nftnl_chain_set_u32(c.get(), NFTNL_CHAIN_HOOKNUM, hook);
    nftnl_chain_set_s32(c.get(), NFTNL_CHAIN_PRIO, 0);
    nftnl_chain_set_u32(c.get(), NFTNL_CHAIN_POLICY, NF_ACCEPT);
    nftnl_chain_nlmsg_build_payload(m, c.get());
  });
}

void NftBatch::add_rule(const char* chain, const Rule& rule, const std::string& interface) {
  const std::string_view step = rule.reply ? "rule ct" : rule.rate ? "rule limit" : "rule";
  add(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND, step, [&](nlmsghdr* m) {
    const KernelRule r = checked(KernelRule(nftnl_rule_alloc()));
    nftnl_rule_set_u32(r.get(), NFTNL_RULE_FAMILY, NFPROTO_INET);
    nftnl_rule_set_str(r.get(), NFTNL_RULE_TABLE, kNftTable);
    nftnl_rule_set_str(r.get(), NFTNL_RULE_CHAIN, chain);
    if (!rule.comment.empty()) set_comment(r.get(), rule.comment);
    Expressions x(r.get());
    add_conditions(x, rule, interface);
    if (rule.tally != firewall::Tally::none) x.count(rule.tally);
    x.verdict(rule.verdict);
    nftnl_rule_nlmsg_build_payload(m, r.get());
  });
}

void NftBatch::add_rules(const firewall::Ruleset& rules) {
  for (const auto tally : firewall::kTallies)
    add(NFT_MSG_NEWOBJ, NLM_F_CREATE | NLM_F_EXCL, "counter", [&](nlmsghdr* m) {
      const Object o = checked(Object(nftnl_obj_alloc()));
      nftnl_obj_set_str(o.get(), NFTNL_OBJ_TABLE, kNftTable);
      nftnl_obj_set_str(o.get(), NFTNL_OBJ_NAME, std::string(name_of(tally)).c_str());
      nftnl_obj_set_u32(o.get(), NFTNL_OBJ_TYPE, NFT_OBJECT_COUNTER);
      nftnl_obj_set_u64(o.get(), NFTNL_OBJ_CTR_PKTS, 0);
      nftnl_obj_set_u64(o.get(), NFTNL_OBJ_CTR_BYTES, 0);
      nftnl_obj_nlmsg_build_payload(m, o.get());
    });
  add_chain("input", NF_INET_LOCAL_IN);
  for (const auto& r : rules.input) add_rule("input", r, rules.interface);
  if (rules.forward.empty()) return;
  add_chain("forward", NF_INET_FORWARD);
  for (const auto& r : rules.forward) add_rule("forward", r, rules.interface);
}

void NftBatch::end() { append(nftnl_batch_end(scratch_.data(), sequence_), "batch"); }

std::string_view NftBatch::step_of(std::uint32_t sequence) const {
  const std::size_t i = sequence - first_;
  return i < steps_.size() ? steps_[i] : "batch";
}

}  // namespace weft::io

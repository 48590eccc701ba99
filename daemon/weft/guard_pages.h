/// Firewall, names and access lists as a person reads them. Pure: JSON in, text out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "weft/table.h"

namespace weft::cli {

/// One line of `weft status`: what mesh peers reach. `weft`: that member of show_status.
std::string reachable_text(const nlohmann::json& weft, bool has_interface);
/// show_firewall. `now_ms` Unix milliseconds.
std::string firewall_page(const nlohmann::json& d, const Style& style, std::int64_t now_ms);
/// What firewall_allow and firewall_deny answered. `now_ms` as above.
std::string firewall_changed(const nlohmann::json& d, std::int64_t now_ms);
/// show_names.
std::string names_page(const nlohmann::json& d, const Style& style);
/// acl_check.
std::string verdict_page(const nlohmann::json& d, const Style& style);

}  // namespace weft::cli

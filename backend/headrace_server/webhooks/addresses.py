"""Which addresses a webhook may reach: public unicast ones, and what the administrator allows. Pure.

Networks are listed here rather than asked of ``ipaddress``, whose ideas of private and global change with Python.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address

# From the IANA special-purpose registries, and one provider's metadata service on a public address.
_NOT_PUBLIC_V4 = [
    IPv4Network(net)
    for net in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared by carriers
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local, metadata services
        "168.63.129.16/32",  # metadata of Azure
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
]
# Everything outside is loopback, mapped, translated (NAT64), link-local, unique local, site-local or multicast.
_PUBLIC_V6 = IPv6Network("2000::/3")
_NOT_PUBLIC_V6 = [
    IPv6Network(net)
    for net in (
        "2001::/23",  # Teredo, ORCHID and other protocols
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: holds any IPv4 address
        "3fff::/20",  # documentation
    )
]


def is_public(address: Address) -> bool:
    """Whether an address is a public unicast one."""
    if isinstance(address, IPv4Address):
        return not any(address in net for net in _NOT_PUBLIC_V4)
    return address.scope_id is None and address in _PUBLIC_V6 and not any(address in net for net in _NOT_PUBLIC_V6)


@dataclass(frozen=True)
class Allowed:
    """What the administrator allows besides public addresses: networks, and names whatever they resolve to."""

    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    hosts: frozenset[str] = frozenset()

    def names(self, host: str) -> bool:
        """Whether the host is allowed by name."""
        return host.rstrip(".").lower() in self.hosts

    def admits(self, host: str, address: Address) -> bool:
        """Whether a request to ``host`` may go to ``address``."""
        if is_public(address) or self.names(host):
            return True
        # "::ffff:10.0.0.1" is not let in by 10.0.0.0/8: networks of one version hold addresses of that version only.
        return any(address.version == net.version and address in net for net in self.networks)


def parse_allowed(entries: list[str]) -> Allowed:
    """Addresses and networks (``10.1.0.0/16``) and host names. Raises ValueError naming the entry."""
    networks, hosts = [], set()
    for entry in entries:
        if "/" in entry or _is_address(entry):
            try:
                networks.append(ip_network(entry.strip("[]")))
            except ValueError as error:
                raise ValueError(f"{entry!r} is neither a network such as 10.1.0.0/16 nor a host name") from error
        else:
            hosts.add(entry.rstrip(".").lower())
    return Allowed(tuple(networks), frozenset(hosts))


def _is_address(text: str) -> bool:
    try:
        ip_address(text.strip("[]"))
    except ValueError:
        return False
    return True

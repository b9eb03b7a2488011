/** The names and addresses that a server certificate is for. */
import { isIP, SocketAddress } from 'node:net';
import { hostname } from 'node:os';

/** Labels of letters, digits, hyphens and underscores; the first may be a star. */
const HOST_NAME = /^(\*\.)?[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*$/;
/** Addresses that mean every interface; clients cannot connect to them. */
const UNSPECIFIED_ADDRESSES = ['0.0.0.0', '::'];

/**
 * localhost, the loopback addresses, this host's name and what is given, each once and in one
 * spelling. Throws when a given one is neither a name nor an address.
 */
export function certificateNames(given: readonly string[]): string[] {
  const wrong = given.find((name) => !isName(name));
  if (wrong !== undefined) {
    throw new Error(
      `${JSON.stringify(wrong)} cannot be in a certificate: it is neither a host name nor an IP address`,
    );
  }
  const host = hostname();
  const own = ['localhost', '127.0.0.1', '::1', ...(isName(host) ? [host] : [])];
  const names = [...own, ...given].map(canonicalName);
  return [...new Set(names)].filter((name) => !UNSPECIFIED_ADDRESSES.includes(name));
}

/** One spelling per name and address. */
export function canonicalName(name: string): string {
  if (isIP(name) !== 6) return name.toLowerCase();
  return new SocketAddress({ address: name, family: 'ipv6' }).address;
}

/** An address with a zone (`fe80::1%eth0`) means something on one machine only. */
function isName(name: string): boolean {
  return isIP(name) === 0 ? HOST_NAME.test(name) : !name.includes('%');
}

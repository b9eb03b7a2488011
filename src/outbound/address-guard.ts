/**
 * Addresses to which the daemon refuses to connect: link-local, site-local and Teredo ones, and those of the metadata services
 * of clouds, which hand credentials of the machine to any process on it. The check runs per
 * connection, after DNS resolution, so that a name cannot resolve differently in between.
 */
import { lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** IPv4-mapped IPv6 addresses count as the IPv4 address. */
const REFUSED = new BlockList();
/** This machine: connections to the unspecified address reach it as well. */
const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('::', 127, 'ipv6');
addIPv4(LOOPBACK, '127.0.0.0', 8);
addIPv4(LOOPBACK, '0.0.0.0', 8);
REFUSED.addSubnet('fe80::', 10, 'ipv6');
// Site-local addresses, which RFC 3879 ended, and Teredo (RFC 4380), which hides an IPv4 address.
REFUSED.addSubnet('fec0::', 10, 'ipv6');
REFUSED.addSubnet('2001::', 32, 'ipv6');
// Metadata services of AWS (machines, pods), Google, Oracle and Scaleway.
const METADATA_IPV6 = [
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
  'fd00:c1::a9fe:a9fe',
  'fd00:42::42',
];
for (const address of METADATA_IPV6) {
  REFUSED.addAddress(address, 'ipv6');
}
addIPv4(REFUSED, '169.254.0.0', 16);
// Metadata services of Alibaba, Azure and Oracle.
for (const address of ['100.100.100.200', '168.63.129.16', '192.0.0.192'])
  addIPv4(REFUSED, address, 32);

/** Also as IPv6 addresses that gateways translate: IPv4-compatible, SIIT, NAT64 and 6to4. */
function addIPv4(list: BlockList, address: string, length: number): void {
  list.addSubnet(address, length, 'ipv4');
  const bytes = Buffer.from(address.split('.').map(Number)).toString('hex');
  const groups = `${bytes.slice(0, 4)}:${bytes.slice(4)}`;
  for (const prefix of ['::', '::ffff:0:', '64:ff9b::', '64:ff9b:1::']) {
    list.addSubnet(`${prefix}${groups}`, 96 + length, 'ipv6');
  }
  list.addSubnet(`2002:${groups}::`, 16 + length, 'ipv6');
}

/** Exceptions that the operator configured. One list per process. */
let allowed = new BlockList();

/** Replaces the exceptions: addresses and subnets that `isSubnet` accepts. */
export function allowAddresses(subnets: readonly string[]): void {
  allowed = new BlockList();
  for (const subnet of subnets) {
    const [address = '', length] = subnet.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    allowed.addSubnet(address, Number(length ?? longest(address)), family);
  }
}

/** `169.254.1.7` or `169.254.1.0/24`, and the same of IPv6. */
export function isSubnet(text: string): boolean {
  const [address = '', length, ...more] = text.split('/');
  const isLength = length === undefined || /^\d{1,3}$/.test(length);
  return isIP(address) !== 0 && isLength && Number(length ?? 0) <= longest(address) && !more.length;
}

function longest(address: string): number {
  return isIP(address) === 6 ? 128 : 32;
}

const METADATA = 'a link-local address, a tunnel, or an address of a metadata service';
const HERE = 'on the loopback, which only an issuer on the loopback may name';

export class AddressRefusedError extends Error {
  readonly code = 'ADDRESS_REFUSED';

  constructor(host: string, address: string, kind = METADATA) {
    const of = host === address ? address : `${host} is at ${address}, which`;
    super(`${of} is ${kind}; --allow-outbound ${address} lets the daemon connect to it`);
  }
}

/** Of a URL, whose parser writes each form of an address in one way. Names are checked by `guardedLookup`. */
export function refuseAddress(hostname: string): void {
  const address = addressIn(hostname);
  if (isRefused(address)) throw new AddressRefusedError(address, address);
}

/** The same for the loopback. Names of it count too. */
export function refuseLoopback(hostname: string): void {
  const address = addressIn(hostname);
  const isAllowed = isIP(address) !== 0 && isIn(allowed, address);
  if (isLoopback(hostname) && !isAllowed) throw new AddressRefusedError(address, address, HERE);
}

/** True for loopback addresses, and for names that are always loopback (RFC 6761). */
export function isLoopback(hostname: string): boolean {
  return /(?:^|\.)localhost\.?$/i.test(hostname) || isIn(LOOPBACK, addressIn(hostname));
}

function addressIn(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** `lookup` of a connection: fails when any of the addresses of the name is refused. */
export const guardedLookup: LookupFunction = guarded(lookup);

/** The same, and fails for addresses of the loopback. */
export const remoteLookup: LookupFunction = guarded(lookup, { refusesLoopback: true });

export function guarded(
  resolve: typeof lookup,
  { refusesLoopback = false }: { refusesLoopback?: boolean } = {},
): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, []);
      const refused = found.find(({ address }) => isRefused(address));
      if (refused !== undefined) {
        return callback(new AddressRefusedError(hostname, refused.address), []);
      }
      const here = found.find(({ address }) => isIn(LOOPBACK, address) && !isIn(allowed, address));
      if (refusesLoopback && here !== undefined) {
        return callback(new AddressRefusedError(hostname, here.address, HERE), []);
      }
      if (options.all === true) return callback(null, found);
      const [first] = found;
      return callback(null, first?.address ?? '', first?.family);
    });
  };
}

function isRefused(address: string): boolean {
  return isIn(REFUSED, address) && !isIn(allowed, address);
}

function isIn(list: BlockList, address: string): boolean {
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

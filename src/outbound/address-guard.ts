/**
 * Addresses that the daemon makes no request to: link-local ones and those of the metadata services
 * of clouds, which hand credentials of the machine to any process on it. Addresses are checked
 * where a connection is made, after the name is resolved: a name cannot change its mind in between.
 */
import { lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** IPv4-mapped IPv6 addresses count as the IPv4 address. */
const REFUSED = new BlockList();
REFUSED.addSubnet('fe80::', 10, 'ipv6');
// Metadata services of AWS (machines, pods) and Google.
for (const address of ['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254']) {
  REFUSED.addAddress(address, 'ipv6');
}
refuseIPv4('169.254.0.0', 16);
// Metadata services of Alibaba, Azure and Oracle.
for (const address of ['100.100.100.200', '168.63.129.16', '192.0.0.192']) refuseIPv4(address, 32);

/** Also as IPv6 addresses that gateways translate: IPv4-compatible, SIIT, NAT64 and 6to4. */
function refuseIPv4(address: string, length: number): void {
  REFUSED.addSubnet(address, length, 'ipv4');
  const bytes = Buffer.from(address.split('.').map(Number)).toString('hex');
  const groups = `${bytes.slice(0, 4)}:${bytes.slice(4)}`;
  for (const prefix of ['::', '::ffff:0:', '64:ff9b::', '64:ff9b:1::']) {
    REFUSED.addSubnet(`${prefix}${groups}`, 96 + length, 'ipv6');
  }
  REFUSED.addSubnet(`2002:${groups}::`, 16 + length, 'ipv6');
}

/** Of the process, as the operator gave it. */
let allowed = new BlockList();

/** Replaces what is allowed beside the rest: addresses and subnets for which `isSubnet` holds. */
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

export class AddressRefusedError extends Error {
  readonly code = 'ADDRESS_REFUSED';

  constructor(host: string, address: string) {
    const of = host === address ? address : `${host} is at ${address}, which`;
    super(
      `${of} is a link-local address or one of a metadata service; --allow-outbound ${address} lets the daemon connect to it`,
    );
  }
}

/** Of a URL, whose parser writes each form of an address in one way. Names are checked by `guardedLookup`. */
export function refuseAddress(hostname: string): void {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isRefused(address)) throw new AddressRefusedError(address, address);
}

/** `lookup` of a connection: fails when any of the addresses of the name is refused. */
export const guardedLookup: LookupFunction = guarded(lookup);

export function guarded(resolve: typeof lookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, []);
      const refused = found.find(({ address }) => isRefused(address));
      if (refused !== undefined) {
        return callback(new AddressRefusedError(hostname, refused.address), []);
      }
      if (options.all === true) return callback(null, found);
      const [first] = found;
      return callback(null, first?.address ?? '', first?.family);
    });
  };
}

function isRefused(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  const name = family === 6 ? 'ipv6' : 'ipv4';
  return REFUSED.check(address, name) && !allowed.check(address, name);
}

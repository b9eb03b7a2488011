/** UUIDs derived from names (RFC 9562, version 5), fast enough for hundreds of thousands. */
import { hash } from 'node:crypto';
import { parse } from 'uuid';

/** `namespace` is a UUID. The returned function derives the UUID of a name in it. */
export function nameUuids(namespace: string): (name: string) => string {
  const prefix = Buffer.from(parse(namespace));
  return (name) => {
    const hex = hash('sha1', Buffer.concat([prefix, Buffer.from(name)]), 'hex');
    const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  };
}

/**
 * Where the records of a store are in etcd. A record is below the prefix under its own key, so that
 * anybody who looks finds it. What the engine needs for itself is below `~/`, where no record is: one
 * whose key begins with `~` is kept under `~` and its key.
 */
const OWN = '~/';
const PART_DIGITS = 6;

export class Layout {
  readonly prefix: string;
  /** Every transaction of the engine writes it: see chain.ts. */
  readonly head: string;
  /** The batch that is too large for a transaction: see big-batch.ts. */
  readonly big: string;
  readonly bigParts: string;
  readonly valueParts: string;

  constructor(prefix: string) {
    this.prefix = prefix;
    this.head = `${prefix}${OWN}head`;
    this.big = `${prefix}${OWN}big`;
    this.bigParts = `${prefix}${OWN}b/`;
    this.valueParts = `${prefix}${OWN}v/`;
  }

  record(key: string): string {
    return `${this.prefix}${escaped(key)}`;
  }

  /** The key of a record; undefined for what is not one. */
  keyOf(etcdKey: string): string | undefined {
    const key = etcdKey.slice(this.prefix.length);
    if (!key.startsWith('~')) return key;
    return key.startsWith(OWN) ? undefined : key.slice(1);
  }

  /** The records below a prefix, as ranges of keys in order; nothing of ours is in them. */
  spans(prefix: string): { key: string; end?: string; prefix?: boolean }[] {
    if (prefix !== '') return [{ key: this.record(prefix), prefix: true }];
    return [
      { key: this.prefix, end: `${this.prefix}${OWN}` },
      // The first key after all of ours: `0` comes after `/`.
      { key: `${this.prefix}~0`, end: endOf(this.prefix) },
    ];
  }

  bigPart(id: string, part: number): string {
    return `${this.bigPartsOf(id)}${numbered(part)}`;
  }

  bigPartsOf(id: string): string {
    return `${this.bigParts}${id}/`;
  }

  /** The key of the record is in it, for whoever tidies up. */
  valuePart(id: string, part: number, key: string): string {
    return `${this.valuePartsOf(id)}${numbered(part)}/${key}`;
  }

  valuePartsOf(id: string): string {
    return `${this.valueParts}${id}/`;
  }

  /** Of a key that `valuePart` made. */
  readValuePart(etcdKey: string): { id: string; key: string } {
    const [id = '', part = ''] = etcdKey.slice(this.valueParts.length).split('/', 2);
    return { id, key: etcdKey.slice(this.valuePartsOf(id).length + part.length + 1) };
  }
}

function escaped(key: string): string {
  return key.startsWith('~') ? `~${key}` : key;
}

function numbered(part: number): string {
  return String(part).padStart(PART_DIGITS, '0');
}

/** Prefixes are ours and end with a slash. */
function endOf(prefix: string): string {
  return `${prefix.slice(0, -1)}0`;
}

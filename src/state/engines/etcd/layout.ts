/**
 * Keys of the records of a store in etcd. A record is below the prefix under its own key, so that
 * it is easy to find. Keys of the engine itself are below `~/`. A record key that begins with `~`
 * gets a second `~`.
 */
const OWN = '~/';
const PART_DIGITS = 6;

export class Layout {
  readonly prefix: string;
  /** Every transaction of the engine writes it: see chain.ts. */
  readonly head: string;
  /** A batch that is too large for a transaction: see big-batch.ts. */
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
    return `${this.prefix}${key.startsWith('~') ? '~' : ''}${key}`;
  }

  /** The key of a record; undefined for other keys. */
  keyOf(etcdKey: string): string | undefined {
    const key = etcdKey.slice(this.prefix.length);
    if (!key.startsWith('~')) return key;
    return key.startsWith(OWN) ? undefined : key.slice(1);
  }

  /** Ranges of the records below a prefix, in order, without keys of the engine. */
  spans(prefix: string): { key: string; end?: string; prefix?: boolean }[] {
    if (prefix !== '') return [{ key: this.record(prefix), prefix: true }];
    return [
      { key: this.prefix, end: `${this.prefix}${OWN}` },
      // The first key after those of the engine: `0` comes after `/`.
      { key: `${this.prefix}~0`, end: endOf(this.prefix) },
    ];
  }

  bigPart(id: string, part: number): string {
    return `${this.bigPartsOf(id)}${numbered(part)}`;
  }

  bigPartsOf(id: string): string {
    return `${this.bigParts}${id}/`;
  }

  /** Includes the key of the record, so that orphans can be found. */
  valuePart(id: string, part: number, key: string): string {
    return `${this.valuePartsOf(id)}${numbered(part)}/${key}`;
  }

  valuePartsOf(id: string): string {
    return `${this.valueParts}${id}/`;
  }

  /** `etcdKey`: a key from `valuePart`. */
  readValuePart(etcdKey: string): { id: string; key: string } {
    const [id = '', part = ''] = etcdKey.slice(this.valueParts.length).split('/', 2);
    return { id, key: etcdKey.slice(this.valuePartsOf(id).length + part.length + 1) };
  }
}

function numbered(part: number): string {
  return String(part).padStart(PART_DIGITS, '0');
}

/** `prefix` must end with a slash. */
function endOf(prefix: string): string {
  return `${prefix.slice(0, -1)}0`;
}

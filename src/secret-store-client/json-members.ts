/**
 * Members of an object in a JSON text, each with the exact text of its value: `JSON.parse` damages
 * numbers above 2^53, and a secret may be one.
 */

export interface Member {
  /** The exact text, without surrounding spaces. */
  readonly text: string;
  /** Decoded value, if it is a string. */
  readonly string?: string;
}

/** Undefined: there is no object at the path. Throws SyntaxError for invalid JSON. */
export function membersAt(text: string, path: readonly string[]): Map<string, Member> | undefined {
  JSON.parse(text);
  let members = objectMembers(text);
  for (const name of path) members = objectMembers(members?.get(name)?.text ?? '');
  return members;
}

/** The text was parsed before, so that it is well-formed. */
function objectMembers(text: string): Map<string, Member> | undefined {
  let at = skipSpace(text, 0);
  if (text[at] !== '{') return undefined;
  const members = new Map<string, Member>();
  at = skipSpace(text, at + 1);
  while (text[at] !== '}') {
    const nameEnd = endOfString(text, at);
    const name: string = JSON.parse(text.slice(at, nameEnd));
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const end = endOfValue(text, start);
    const value = text.slice(start, end);
    members.set(
      name,
      value[0] === '"' ? { text: value, string: JSON.parse(value) } : { text: value },
    );
    at = skipSpace(text, end);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return members;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (' \t\n\r'.includes(text[at] ?? '-')) at += 1;
  return at;
}

function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function endOfValue(text: string, from: number): number {
  if (text[from] === '"') return endOfString(text, from);
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const character = text[at] ?? '';
    if (depth === 0 && at > from && ',}] \t\n\r'.includes(character)) return at;
    if (character === '"') {
      at = endOfString(text, at);
      continue;
    }
    if ('{['.includes(character)) depth += 1;
    if ('}]'.includes(character)) depth -= 1;
    at += 1;
    if (depth === 0 && '}]'.includes(character)) return at;
  }
  return at;
}

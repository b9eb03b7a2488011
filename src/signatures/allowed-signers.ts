/**
 * Parser for the `allowed_signers` file of git and OpenSSH (ssh-keygen(1), "ALLOWED SIGNERS"), which maps
 * SSH keys to principals. Certificates are not supported: a line with one is an error.
 */
import { SignatureError, SignatureFileError } from './signature-error.ts';
import { parsePublicKey, type SshPublicKey } from './ssh-public-key.ts';

export interface AllowedSigner {
  /** Patterns separated by commas, as in the file. */
  readonly principals: string;
  readonly key: SshPublicKey;
  /** Undefined: valid for every purpose. */
  readonly namespaces: string | undefined;
  /** Milliseconds since the epoch, both inclusive. */
  readonly validAfter: number | undefined;
  readonly validBefore: number | undefined;
}

/** Throws SignatureFileError with the file and the line. */
export function parseAllowedSigners(text: string, file: string): AllowedSigner[] {
  return text.split('\n').flatMap((line, index) => {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) return [];
    try {
      return [parseLine(trimmed)];
    } catch (error) {
      if (!(error instanceof SignatureError)) throw error;
      throw new SignatureFileError(`${file}:${index + 1}: ${error.message}`, { cause: error });
    }
  });
}

/** A word; blanks in quotes belong to it. */
const word = /^((?:"(?:\\.|[^"\\])*"|[^\s"])+)(?:\s+|$)/;
const keyType = /^(?:ssh-|ecdsa-|sk-)[a-z0-9@.-]+$/;

function parseLine(line: string): AllowedSigner {
  const [principals, afterPrincipals] = nextWord(line);
  const [first, afterFirst] = nextWord(afterPrincipals);
  const hasOptions = !keyType.test(first);
  const options = parseOptions(hasOptions ? first : '');
  const [type, afterType] = hasOptions ? nextWord(afterFirst) : [first, afterFirst];
  const [base64] = nextWord(afterType);
  const key = parsePublicKey(Buffer.from(base64, 'base64'));
  if (key.type !== type) {
    throw new SignatureError(
      `the key has type ${key.type}, and the line says ${JSON.stringify(type)}`,
    );
  }
  return {
    principals: unquoted(principals),
    key,
    namespaces: options.get('namespaces'),
    validAfter: parseTime(options.get('valid-after')),
    validBefore: parseTime(options.get('valid-before')),
  };
}

function nextWord(text: string): [found: string, rest: string] {
  const match = word.exec(text);
  if (match === null) {
    throw new SignatureError('write `principals [options] keytype base64-key` on each line');
  }
  return [match[1] ?? '', text.slice(match[0].length)];
}

function unquoted(text: string): string {
  return text.replace(/^"(.*)"$/, '$1').replaceAll('\\"', '"');
}

const option = /^([A-Za-z-]+)(?:="((?:\\.|[^"\\])*)")?(?:,|$)/;
const withValue = ['namespaces', 'valid-after', 'valid-before'];

function parseOptions(text: string): Map<string, string> {
  const options = new Map<string, string>();
  let rest = text;
  while (rest !== '') {
    const match = option.exec(rest);
    const name = match?.[1]?.toLowerCase() ?? '';
    const value = match?.[2];
    if (name === 'cert-authority') {
      throw new SignatureError(
        'cert-authority is not supported; list the keys themselves, one per line',
      );
    }
    if (match === null || !withValue.includes(name) || value === undefined) {
      throw new SignatureError(
        `the option ${JSON.stringify(rest.slice(0, 60))} is unknown or malformed`,
      );
    }
    if (options.has(name)) throw new SignatureError(`the option ${name} is given twice`);
    options.set(name, value.replaceAll('\\"', '"'));
    rest = rest.slice(match[0].length);
  }
  return options;
}

const time = /^(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?(Z|UTC)?$/;

/** Parses `YYYYMMDD[HHMM[SS]][Z]`; without the Z in the time zone of the system, as ssh-keygen does. */
function parseTime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [all, ...parts] = time.exec(text) ?? [];
  const [year, month, day, hour, minute, second] = parts
    .slice(0, 6)
    .map((part) => Number(part ?? 0)) as [number, number, number, number, number, number];
  const fields = [year, month - 1, day, hour, minute, second] as const;
  const date = parts[6] === undefined ? new Date(...fields) : new Date(Date.UTC(...fields));
  const isReal = month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour < 24 && minute < 60;
  if (all === undefined || !isReal || Number.isNaN(date.getTime())) {
    throw new SignatureError(`${JSON.stringify(text)} is not a time; write YYYYMMDD[HHMM[SS]][Z]`);
  }
  return date.getTime();
}

/** Matches a list like `a,*@example.com,!b@example.com`: one pattern must match, and no negated one. */
export function matchesPatterns(text: string, patterns: string): boolean {
  let matched = false;
  for (const pattern of patterns.split(',')) {
    const negated = pattern.startsWith('!');
    if (!matchesPattern(text, negated ? pattern.slice(1) : pattern)) continue;
    if (negated) return false;
    matched = true;
  }
  return matched;
}

/** Supports `*` and `?`. Not a regular expression, so that no pattern takes exponential time. */
function matchesPattern(text: string, pattern: string): boolean {
  let [at, next, star, resume] = [0, 0, -1, 0];
  while (at < text.length) {
    if (pattern[next] === '*') {
      star = next++;
      resume = at;
    } else if (next < pattern.length && (pattern[next] === '?' || pattern[next] === text[at])) {
      next++;
      at++;
    } else if (star === -1) {
      return false;
    } else {
      next = star + 1;
      at = ++resume;
    }
  }
  return [...pattern.slice(next)].every((char) => char === '*');
}

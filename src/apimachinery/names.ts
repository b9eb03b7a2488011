/** Names and the rules they follow (RFC 1123; reference: Kubernetes API, sections 2.8 and 2.16). */
import { randomInt } from 'node:crypto';

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const DNS_LABEL = new RegExp(`^${LABEL}$`);
const DNS_SUBDOMAIN = new RegExp(`^${LABEL}(\\.${LABEL})*$`);
const QUALIFIED_PART = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

export type NameRule = (name: string) => string[];

/** Problems of a DNS-1123 subdomain (at most 253 characters). */
export function dnsSubdomainProblems(name: string): string[] {
  const problems: string[] = [];
  if (name.length > 253) problems.push('must be no more than 253 characters');
  if (!DNS_SUBDOMAIN.test(name)) {
    problems.push(
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    );
  }
  return problems;
}

/** Problems of a DNS-1123 label (at most 63 characters). */
export function dnsLabelProblems(name: string): string[] {
  const problems: string[] = [];
  if (name.length > 63) problems.push('must be no more than 63 characters');
  if (!DNS_LABEL.test(name)) {
    problems.push(
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name', or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    );
  }
  return problems;
}

/** Problems of a segment of a URL path, the rule for names of RBAC objects. */
export function pathSegmentProblems(name: string): string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  const bad = ['/', '%', '\\'].filter((char) => name.includes(char));
  const problems = bad.map((char) => `may not contain '${char}'`);
  if (/\p{Cc}/u.test(name)) problems.push('may not contain control characters');
  if (/\p{Surrogate}/u.test(name)) problems.push('must be valid Unicode');
  return problems;
}

/** Problems of `[prefix/]name`: keys of labels and annotations, finalizers. */
export function qualifiedNameProblems(key: string): string[] {
  const slash = key.indexOf('/');
  const prefix = slash < 0 ? undefined : key.slice(0, slash);
  const name = key.slice(slash + 1);
  const problems: string[] = [];
  if (prefix !== undefined) {
    if (prefix === '') problems.push('prefix part must be non-empty');
    else problems.push(...dnsSubdomainProblems(prefix).map((text) => `prefix part ${text}`));
  }
  if (name === '') problems.push('name part must be non-empty');
  else if (name.length > 63) problems.push('name part must be no more than 63 characters');
  if (name !== '' && !QUALIFIED_PART.test(name)) {
    problems.push(
      "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    );
  }
  return problems;
}

export function labelValueProblems(value: string): string[] {
  const problems: string[] = [];
  if (value.length > 63) problems.push('must be no more than 63 characters');
  if (!LABEL_VALUE.test(value)) {
    problems.push(
      "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    );
  }
  return problems;
}

const SUFFIX_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
const MAX_GENERATED_BASE = 58;

/**
 * A name for `metadata.generateName`. The alphabet has no vowels and no look-alikes, so that no
 * word appears by chance; 27^5 suffixes make a collision rare enough for `GENERATE_ATTEMPTS`.
 */
export function generateName(base: string): string {
  let suffix = '';
  for (let i = 0; i < SUFFIX_LENGTH; i++)
    suffix += SUFFIX_ALPHABET[randomInt(SUFFIX_ALPHABET.length)];
  return base.slice(0, MAX_GENERATED_BASE) + suffix;
}

/** Tries before a create with generateName gives up with 409, as in Kubernetes. */
export const GENERATE_ATTEMPTS = 8;

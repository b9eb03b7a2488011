/**
 * Query of a search: words that all must match. `kind:`, `ns:`, `owner:` and `label:` restrict one
 * property. Other words match any property; a match in the name ranks above the others.
 */
import { badRequest } from '../../apimachinery/index.ts';
import type { Kind } from '../../kinds/index.ts';

/** Searched facts about an object, in lower case except the labels. */
export interface SearchFacts {
  readonly name: string;
  readonly namespace: string;
  readonly displayName: string;
  /** `user/ada` or `team/ops`; empty: none. */
  readonly owner: string;
  readonly labels: Labels | undefined;
}

type Labels = Readonly<Record<string, string>>;

const LONGEST_QUERY = 256;
const MOST_WORDS = 8;
const FILTERS = ['kind', 'ns', 'owner', 'label'] as const;
type Filter = (typeof FILTERS)[number];

/** Ranks of matches, best first. */
const RANK = {
  wholeName: 100,
  startOfName: 80,
  wordOfName: 60,
  insideName: 50,
  displayName: 40,
  owner: 30,
  namespace: 20,
  label: 10,
} as const;

export interface SearchQuery {
  /** True if objects of the kind can match. */
  fitsKind(kind: Kind): boolean;
  /** Rank of a match; 0: no match. */
  rank(facts: SearchFacts): number;
}

/** Throws 400. */
export function parseSearch(text: string): SearchQuery {
  const words = text.toLowerCase().trim().split(/\s+/).filter(Boolean);
  if (words.length === 0) throw badRequest('q: expected words to search for');
  if (text.length > LONGEST_QUERY || words.length > MOST_WORDS) {
    throw badRequest(`q: at most ${MOST_WORDS} words in ${LONGEST_QUERY} characters`);
  }
  const filters: { readonly filter: Filter; readonly value: string }[] = [];
  const free: string[] = [];
  for (const word of words) {
    const colon = word.indexOf(':');
    const filter = FILTERS.find((name) => name === word.slice(0, Math.max(colon, 0)));
    if (filter === undefined) free.push(word);
    else filters.push({ filter, value: word.slice(colon + 1) });
  }
  const kinds = filters.filter(({ filter }) => filter === 'kind').map(({ value }) => value);
  const others = filters.filter(({ filter }) => filter !== 'kind');
  const labels = new Map<string, (of: Labels | undefined) => boolean>();
  const hasLabel = (wanted: string, of: Labels | undefined): boolean => {
    const judge = labels.get(wanted) ?? labelJudge(wanted);
    labels.set(wanted, judge);
    return judge(of);
  };
  return {
    fitsKind: (kind) => kinds.every((wanted) => namesOf(kind).includes(wanted)),
    rank: (facts) => {
      if (!others.every(({ filter, value }) => fits(facts, { filter, value, hasLabel }))) return 0;
      if (free.length === 0) return RANK.wholeName;
      let total = 0;
      for (const word of free) {
        const rank = rankOf(word, facts, hasLabel);
        if (rank === 0) return 0;
        total += rank;
      }
      return total / free.length;
    },
  };
}

function namesOf({ kind, plural, singular, shortNames, aliases }: Kind): readonly string[] {
  return [kind.toLowerCase(), plural, singular, ...shortNames, ...aliases];
}

type HasLabel = (wanted: string, of: Labels | undefined) => boolean;

function fits(
  { namespace, owner, labels }: SearchFacts,
  of: { readonly filter: Filter; readonly value: string; readonly hasLabel: HasLabel },
): boolean {
  const { filter, value, hasLabel } = of;
  if (filter === 'ns') return namespace === value;
  if (filter === 'owner') return owner === value || owner.slice(owner.indexOf('/') + 1) === value;
  return hasLabel(value, labels);
}

function rankOf(word: string, facts: SearchFacts, hasLabel: HasLabel): number {
  const { name, displayName, owner, namespace, labels } = facts;
  const at = name.indexOf(word);
  if (at === 0) return name.length === word.length ? RANK.wholeName : RANK.startOfName;
  if (at > 0) {
    return '-.:'.includes(name.charAt(at - 1)) ? RANK.wordOfName : RANK.insideName;
  }
  if (displayName.includes(word)) return RANK.displayName;
  if (owner.includes(word)) return RANK.owner;
  if (namespace.includes(word)) return RANK.namespace;
  return hasLabel(word, labels) ? RANK.label : 0;
}

/** With more distinct labels than this, memoizing costs more than matching. */
const MOST_VERDICTS = 4096;

/**
 * `tier=one` matches a whole label, other texts match inside of a key or a value. Memoized by object:
 * the store has one value for equal labels.
 */
function labelJudge(wanted: string): (of: Labels | undefined) => boolean {
  const verdicts = new Map<Labels, boolean>();
  const isPair = wanted.includes('=');
  return (of) => {
    if (of === undefined) return false;
    const known = verdicts.get(of);
    if (known !== undefined) return known;
    const verdict = Object.entries(of).some(([key, value]) => {
      const [k, v] = [key.toLowerCase(), value.toLowerCase()];
      return isPair ? `${k}=${v}` === wanted : k.includes(wanted) || v.includes(wanted);
    });
    if (verdicts.size < MOST_VERDICTS) verdicts.set(of, verdict);
    return verdict;
  };
}

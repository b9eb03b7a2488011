/** Rights of the person on the page that is shown: one request per page and namespace. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { SelfSubjectRulesReview } from '../../client/index.ts';
import { ANY_RIGHTS, Rights } from '../api/rights.ts';
import { segments } from './location.ts';
import { client, session } from './session.ts';

/** No role can be in a namespace of this name, so that the answer has the rights that hold everywhere. */
const EVERYWHERE = '-';
/** Takes the right to ask about other people. */
export const ACCESS_REVIEWS = { group: 'authorization.k8s.io', name: 'subjectaccessreviews' };

const MOST_KNOWN = 8;
const REVIEWS = {
  group: 'authorization.k8s.io',
  version: 'v1',
  name: 'selfsubjectrulesreviews',
};

interface Known {
  /** Page that asked. */
  readonly page: string;
  /** Those of the page before until the answer is there. */
  readonly rights: Rights | undefined;
}

/** By namespace. */
const known = signal<ReadonlyMap<string, Known>>(new Map());

/** In a namespace; empty: for kinds without namespaces, and paths. Undefined: they are loading, and nothing is offered. */
export function useRights(namespace = ''): Rights | undefined {
  const page = segments.value.join('/');
  const place = namespace || EVERYWHERE;
  useEffect(() => {
    const before = known.peek().get(place);
    if (before?.page === page) return;
    remember(place, { page, rights: before?.rights });
    void ask(place).then((rights) => remember(place, { page, rights }));
  }, [place, page]);
  return known.value.get(place)?.rights;
}

function remember(place: string, next: Known): void {
  const others = [...known.peek()].filter(([other]) => other !== place);
  known.value = new Map([...others.slice(1 - MOST_KNOWN), [place, next]]);
}

async function ask(namespace: string): Promise<Rights> {
  try {
    const { status = {} } = await client.json<SelfSubjectRulesReview>(client.pathOf(REVIEWS), {
      method: 'POST',
      body: {
        apiVersion: `${REVIEWS.group}/${REVIEWS.version}`,
        kind: 'SelfSubjectRulesReview',
        metadata: {},
        spec: { namespace },
      },
    });
    return new Rights(status, session);
  } catch {
    // The next page asks again.
    return ANY_RIGHTS;
  }
}

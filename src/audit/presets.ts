/** The prepared policies: `audit.level` from 1 (little) to 4 (bodies of requests and answers). */
import type { AuditRule } from '../config/index.ts';

/** Reviews, and frequent requests without information. */
const UNRECORDED: AuditRule = {
  level: 'None',
  resources: [
    {
      group: '*',
      resources: [
        'selfsubjectaccessreviews',
        'selfsubjectrulesreviews',
        'selfsubjectreviews',
        'subjectaccessreviews',
        'localsubjectaccessreviews',
        'tokenreviews',
        'directclusterendpointtokens',
      ],
    },
  ],
};

/** Requests that relay events are not recorded; the events that they carry are. */
const RELAYED: AuditRule = { level: 'None', verbs: ['post'], nonResourceURLs: ['/audit/events'] };

/** Their bodies are secrets for the most part. */
const SECRETIVE: readonly AuditRule[] = [
  {
    level: 'Metadata',
    resources: [
      {
        group: '*',
        resources: ['ownedaccesskeys', 'sharedsecrets', 'projectsecrets', 'secrets', 'config'],
      },
    ],
  },
  {
    level: 'Metadata',
    resources: [{ group: '*', resources: ['*/log', '*/exec', '*/portforward'] }],
  },
];

const READS = ['get', 'list', 'watch'];

const BY_LEVEL: Readonly<Record<number, readonly AuditRule[]>> = {
  1: [
    { level: 'None', verbs: READS },
    { level: 'Request', verbs: ['create'] },
    { level: 'Metadata' },
  ],
  2: [{ level: 'Request', verbs: ['create'] }, { level: 'Metadata' }],
  3: [{ level: 'Request' }],
  4: [{ level: 'RequestResponse' }],
};

export function presetRules(level: number): readonly AuditRule[] {
  const own = BY_LEVEL[level] ?? [];
  // The first level does not record reads of secrets either.
  const [first, ...rest] = own;
  const isQuiet = first?.level === 'None';
  const silent = [UNRECORDED, RELAYED];
  return isQuiet ? [...silent, first, ...SECRETIVE, ...rest] : [...silent, ...SECRETIVE, ...own];
}

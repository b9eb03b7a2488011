/**
 * The manifests that are measured on: always the same bytes for the same number. Ten shared secrets
 * to each team, 100 files to a directory, about 600 bytes each, values that do not compress.
 */
import { createHash } from 'node:crypto';

export const API_GROUP = 'management.gitplane.dev';
/** The collection that lists are measured on; the other objects are shared secrets. */
const MOST_TEAMS = 1000;
const FILES_A_DIRECTORY = 100;

export interface CorpusFile {
  readonly path: string;
  readonly content: Buffer;
}

export class Corpus {
  readonly size: number;
  readonly teams: number;
  readonly secrets: number;
  readonly #filesADirectory: number;

  /** `filesADirectory`: how many shared secrets a namespace, and so a directory, has. */
  constructor(size: number, filesADirectory = FILES_A_DIRECTORY) {
    this.size = size;
    this.#filesADirectory = filesADirectory;
    this.teams = Math.min(MOST_TEAMS, Math.ceil(size / 10));
    this.secrets = size - this.teams;
  }

  *files(): IterableIterator<CorpusFile> {
    for (let i = 0; i < this.teams; i++) yield teamFile(i);
    for (let i = 0; i < this.secrets; i++) yield this.secretFile(i, 'change-0');
  }

  get bytes(): number {
    let sum = 0;
    for (const { content } of this.files()) sum += content.length;
    return sum;
  }

  /** `mark` is a word of its description, by which a change can be recognized. */
  secretFile(i: number, mark: string): CorpusFile {
    const namespace = this.namespaceOf(i);
    const path = `namespaces/${namespace}/sharedsecrets/${secretName(i)}.yaml`;
    const owner = `team-${number(i % this.teams)}`;
    const content = `# What workloads of ${namespace} need at run time.
apiVersion: ${API_GROUP}/v1
kind: SharedSecret
metadata:
  name: ${secretName(i)}
  namespace: ${namespace}
  labels:
    app.kubernetes.io/part-of: ${namespace}
spec:
  displayName: Secret ${i}
  description: Credentials of a data base, ${mark}
  owner:
    team: ${owner}
  data:
    username: ${value(`user ${i}`, 12)}
    password: ${value(`password ${i}`, 32)}
    endpoint: ${value(`endpoint ${i}`, 30)}
  access:
    - name: readers
      verbs: [get]
      teams: [${owner}]
`;
    return { path, content: Buffer.from(content) };
  }

  namespaceOf(secret: number): string {
    return `project-${number(Math.floor(secret / this.#filesADirectory))}`;
  }

  /** A secret that is not in the corpus, as a client would send it. */
  newSecret(i: number): { namespace: string; name: string; body: Buffer } {
    const namespace = this.namespaceOf((i * 7919) % Math.max(this.secrets, 1));
    const name = `made-${i}`;
    const body = {
      apiVersion: `${API_GROUP}/v1`,
      kind: 'SharedSecret',
      metadata: { name, labels: { 'app.kubernetes.io/part-of': namespace } },
      spec: {
        displayName: `Made ${i}`,
        description: 'Credentials of a data base, made through the API',
        owner: { team: `team-${number(i % this.teams)}` },
        data: {
          username: value(`made user ${i}`, 12),
          password: value(`made password ${i}`, 32),
          endpoint: value(`made endpoint ${i}`, 30),
        },
        access: [{ name: 'readers', verbs: ['get'], teams: ['team-00000'] }],
      },
    };
    return { namespace, name, body: Buffer.from(JSON.stringify(body)) };
  }
}

export function secretName(i: number): string {
  return `secret-${number(i)}`;
}

function teamFile(i: number): CorpusFile {
  const name = `team-${number(i)}`;
  const path = `teams/${number(Math.floor(i / FILES_A_DIRECTORY))}/${name}.yaml`;
  const content = `# Made by the directory export; ask the help desk for changes.
apiVersion: ${API_GROUP}/v1
kind: Team
metadata:
  name: ${name}
  labels:
    gitplane.dev/cost-center: "${1000 + i}"
spec:
  displayName: Team ${i}
  description: Runs what ${name} runs and is called when it does not
  owner:
    team: ${name}
  username: ${name} # also the name in the image registry
  users:
    - user-${number(i)}
    - user-${number(i + 1)}
  clusterRoles:
    - name: edit
  access:
    - name: members
      verbs: [get, makeowner]
      teams: [${name}]
    - name: leads
      verbs: ["*"]
      subresources: ["*"]
      users: [user-${number(i)}]
`;
  return { path, content: Buffer.from(content) };
}

function number(i: number): string {
  return String(i).padStart(5, '0');
}

function value(seed: string, bytes: number): string {
  return createHash('sha256').update(seed).digest().subarray(0, bytes).toString('base64');
}

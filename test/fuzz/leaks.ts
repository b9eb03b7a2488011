/** True if an answer, a file in git or a log shows anybody what they were never granted. */

import { askFor, type Target } from './judge.ts';
import type { Rights } from './rights-model.ts';
import { openDataKey, openValue, readSealed } from './sealed-files.ts';
import { tracesIn } from './traces.ts';
import type { Life, Person, World } from './world.ts';

const NOBODY_HAS = 'zz-nobody-has-this';
const KEPT_DATA_KEYS = 12;

export interface Answered {
  readonly code: number;
  readonly text: string;
  /** What was sent with the request. */
  readonly sent: string;
  /** A read of a target by a verb; a write shows its target to those who may get it. */
  readonly verb: string;
  readonly target: Target | undefined;
}

export interface Reader {
  /** Before and after the request; undefined: the key does not work. */
  readonly before: Rights | undefined;
  readonly after: Rights | undefined;
  /** The lives that were there before the request. */
  wasLive(life: Life): boolean;
}

const READS = ['get', 'list', 'watch'];
/** Verb of answers about many objects. */
export const OVERVIEW = 'overview';

export function leaksInAnswer(world: World, reader: Reader, answer: Answered): string[] {
  const { canaries, marks, tokens } = tracesIn(answer.text);
  if (canaries.size === 0 && marks.size === 0 && tokens.size === 0) return [];
  const sent = tracesIn(answer.sent);
  const isError = answer.code >= 400;
  const findings: string[] = [];
  for (const canary of canaries) {
    if (isError) findings.push(`an error repeats the value ${canary}`);
    else if (!sent.canaries.has(canary) && !mayRead(world, reader, answer, canary)) {
      findings.push(`shows ${canary} of ${describeLives(world, canary)}`);
    }
  }
  for (const mark of marks) {
    if (sent.marks.has(mark) || mayRead(world, reader, answer, mark)) continue;
    if (isWriter(world, reader, answer, mark)) continue;
    findings.push(`shows ${mark} of ${describeLives(world, mark)}`);
  }
  for (const token of tokens) {
    const isKnown = world.tokens.has(token);
    if (isKnown && !sent.tokens.has(token)) findings.push('shows an access key again');
  }
  return findings;
}

function livesOf(world: World, trace: string): Life[] {
  return [...(world.livesWith.get(trace) ?? [])].flatMap((uid) => world.lives.get(uid) ?? []);
}

function mayRead(world: World, reader: Reader, answer: Answered, trace: string): boolean {
  const { target, verb } = answer;
  if (verb === OVERVIEW) return livesOf(world, trace).some((life) => maySee(world, reader, life));
  if (target === undefined) return false;
  const isRead = READS.includes(verb);
  // A write shows what it copies, or what others copied to its object, to those who may get that.
  if (!isRead && livesOf(world, trace).some((life) => mayGet(world, reader, life))) return true;
  return livesOf(world, trace).some((life) => {
    if (!isWithin(life, target)) return false;
    // The answer to a write shows one object, as a get does.
    const asked = isRead ? target : life;
    const ask = askFor(isRead ? verb : 'get', asked);
    return [reader.before, reader.after].some((rights) => {
      if (rights === undefined || !rights.allows(ask)) return false;
      if (world.isLive(life) || reader.wasLive(life)) return true;
      return rights.allows({ ...ask, name: NOBODY_HAS }) && rights.allows({ ...ask, name: '' });
    });
  });
}

/** Documents about many objects show those that the reader may list or get. */
function maySee(world: World, reader: Reader, life: Life): boolean {
  if (!world.isLive(life) && !reader.wasLive(life)) return false;
  const everyName = { ...life, name: '' };
  const asks = [
    askFor('get', life),
    askFor('list', everyName),
    askFor('list', { ...everyName, namespace: '' }),
  ];
  return [reader.before, reader.after].some(
    (rights) => rights !== undefined && asks.some((ask) => rights.allows(ask)),
  );
}

function mayGet(world: World, { before }: Reader, life: Life): boolean {
  const asked = world.isLive(life) ? life : { ...life, name: '' };
  return before?.allows(askFor('get', asked)) === true;
}

/** Who writes an object is answered with it, but for its secrets. */
function isWriter(world: World, reader: Reader, answer: Answered, mark: string): boolean {
  const { target, verb } = answer;
  if (target === undefined || READS.includes(verb)) return false;
  const found = livesOf(world, mark).some(
    (life) => isWithin(life, target) && (world.isLive(life) || reader.wasLive(life)),
  );
  return found && reader.before?.allows(askFor(verb, target)) === true;
}

function isWithin(life: Life, { plural, namespace, name }: Target): boolean {
  return (
    life.plural === plural &&
    (namespace === '' || life.namespace === namespace) &&
    (name === '' || life.name === name)
  );
}

export function describeLives(world: World, trace: string): string {
  const lives = livesOf(world, trace);
  if (lives.length === 0) return 'a write that was refused';
  return lives
    .map((life) => {
      const state = world.isLive(life) ? 'living' : 'past';
      return `the ${state} ${life.plural}/${life.namespace}/${life.name}`;
    })
    .join(', ');
}

/** Whatever is in git in the clear, or opens by what a person has, without that person's right to it. */
export async function leaksInFile(
  world: World,
  people: readonly Person[],
  file: { readonly path: string; readonly text: string; readonly recipients: readonly string[] },
): Promise<string[]> {
  const { path, text, recipients } = file;
  const { canaries, tokens } = tracesIn(text);
  const findings = [...canaries].map((canary) => `${path} has ${canary} in the clear`);
  if ([...tokens].some((token) => world.tokens.has(token))) findings.push(`${path} has a key`);
  const sealed = readSealed(text);
  if (sealed === undefined) return findings;
  for (const person of people) {
    // Whom `.sops.yaml` names may open everything; the right to change that is judged by itself.
    if (recipients.includes(person.recipient)) {
      for (const { text } of sealed.values) person.opened.add(text);
      continue;
    }
    const dataKeys = person.dataKeys.slice(-KEPT_DATA_KEYS);
    for (const { recipient, enc } of sealed.age) {
      if (recipient !== person.recipient) continue;
      const dataKey = await openDataKey(person.identity, enc);
      if (dataKey !== undefined) dataKeys.push(dataKey);
    }
    for (const value of sealed.values) {
      if (person.opened.has(value.text)) continue;
      const opened = dataKeys.map((key) => openValue(key, value)).find((one) => one !== undefined);
      for (const canary of opened === undefined ? [] : tracesIn(opened).canaries) {
        if (!mayKnow(world, person, canary)) {
          findings.push(
            `${person.name} opens ${canary} of ${describeLives(world, canary)} in ${path}`,
          );
        }
      }
    }
  }
  return findings;
}

function mayKnow(world: World, person: Person, canary: string): boolean {
  if (world.senders.get(canary)?.has(person.name) === true) return true;
  return livesOf(world, canary).some((life) =>
    person.keys.some((key) => world.rightsOf(key)?.allows(askFor('get', life)) === true),
  );
}

/** Who takes a step, and what the step is about. */
import type { Random } from '../support/random.ts';
import type { Episode } from './episode.ts';
import { askFor, type Target } from './judge.ts';
import { idOf, isNamespaced } from './rights-model.ts';
import { NAMES, NAMESPACES, pickName, pickPlural } from './wishes.ts';
import { type HeldKey, type Person, PLURALS } from './world.ts';

export interface Player {
  readonly episode: Episode;
  readonly random: Random;
  readonly person: Person;
  readonly key: HeldKey;
}
/** What a request is about: most of the time something that the key has the right to do. */
export function pickTarget(player: Player, verb: string): Target {
  const { random, episode } = player;
  if (random.chance(0.2)) return anyTarget(player);
  const allowed = allowedTargets(player, verb);
  if (allowed.length === 0) return anyTarget(player);
  const isThere = ({ plural, namespace, name }: Target): boolean =>
    episode.world.find(plural, namespace, name) !== undefined;
  const there = allowed.filter((target) => isThere(target) !== (verb === 'create'));
  const from = there.length > 0 && random.chance(0.8) ? there : allowed;
  // Others may have touched what waits for a review.
  const waiting = from.filter(({ plural, namespace, name }) =>
    episode.world.waiting.has(idOf(plural, namespace, name)),
  );
  if (waiting.length > 0 && random.chance(0.5)) return random.pick(waiting);
  // Secrets are what it is about, and who may read them.
  const word = random.pick(['secrets', 'secrets', 'secrets', 'role', '']);
  const wanted = from.filter(({ plural }) => plural.includes(word));
  return random.pick(wanted.length > 0 ? wanted : from);
}

/** Everything of the names that there may be that a key may do. */
export function allowedTargets(
  { episode, key }: Pick<Player, 'episode' | 'key'>,
  verb: string,
): Target[] {
  const rights = episode.world.rightsOf(key);
  if (rights === undefined) return [];
  return ALL_TARGETS.filter((target) =>
    rights.allows(askFor(verb, verb === 'create' ? { ...target, name: '' } : target)),
  );
}

const ALL_TARGETS: readonly Target[] = PLURALS.flatMap((plural) =>
  (isNamespaced(plural) ? NAMESPACES : ['']).flatMap((namespace) =>
    (NAMES[plural] ?? []).map((name) => ({ plural, namespace, name })),
  ),
);

export function anyTarget({ random, episode }: Player): Target {
  const ids = [...episode.world.objects.keys()].filter((id) => !/admin$/.test(id));
  const wanted = pickPlural(random);
  const there = ids.filter((id) => id.startsWith(`${wanted}/`));
  if (there.length > 0 && random.chance(0.6)) {
    const [plural = '', namespace = '', name = ''] = random.pick(there).split('/');
    return { plural, namespace, name };
  }
  const namespace = isNamespaced(wanted) ? random.pick(NAMESPACES) : '';
  return { plural: wanted, namespace, name: pickName(random, wanted) };
}

/** An answer to nothing that is asked about objects: it may show none. */
export function bare(
  player: Player,
  of: { label: string; verb: string; sent?: string; target?: Target },
) {
  const { person, key } = player;
  return { person, key, sent: '', ...of };
}

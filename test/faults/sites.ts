/** Every operation that a daemon was seen to do, and which of them it was killed at. */
import { readFileSync } from 'node:fs';
import type { Kill } from '../support/faults/fault-daemon.ts';
import type { Random } from '../support/random.ts';

type When = Kill['when'];

export class Sites {
  readonly #seen = new Map<string, number>();
  readonly #met = new Set<string>();

  /** Takes in a trace: a line for each operation. Returns how many there were of each. */
  take(trace: string): void {
    const counts = new Map<string, number>();
    for (const site of readFileSync(trace, 'utf8').split('\n')) {
      if (site !== '') counts.set(site, (counts.get(site) ?? 0) + 1);
    }
    for (const [site, count] of counts) {
      this.#seen.set(site, Math.max(count, this.#seen.get(site) ?? 0));
    }
  }

  /** An operation to be killed at, rather one where no daemon was killed yet. */
  next(random: Random): Kill {
    const all = this.#points();
    const fresh = all.filter((point) => !this.#met.has(name(point)));
    const point = random.pick(fresh.length > 0 ? fresh : all);
    const nth = 1 + random.below(Math.min(this.#seen.get(point.site) ?? 1, MOST_SKIPPED));
    return { ...point, nth, group: random.chance(0.5) };
  }

  met(kill: Kill): void {
    this.#met.add(name({ site: kill.site ?? '', when: kill.when }));
  }

  get coverage(): string {
    const all = this.#points();
    const met = all.filter((point) => this.#met.has(name(point)));
    return `${met.length} of ${all.length} points of ${this.#seen.size} operations`;
  }

  #points(): { site: string; when: When }[] {
    return [...this.#seen.keys()].flatMap((site) =>
      (['before', 'half', 'after'] as const)
        .filter((when) => when !== 'half' || site.startsWith('write'))
        .map((when) => ({ site, when })),
    );
  }
}

/** Later occurrences may not come before the round is over. */
const MOST_SKIPPED = 12;

function name({ site, when }: { site: string; when: When }): string {
  return `${when} ${site}`;
}

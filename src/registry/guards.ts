/** Runs the rules that a change has to pass beyond validation. */
import type { Guard, PlannedChange } from './write-context.ts';

/** Throws what the first guard that objects says. */
export function applyGuards(guards: readonly Guard[], change: PlannedChange): void {
  for (const guard of guards) {
    const objection = guard(change);
    if (objection !== undefined) throw objection;
  }
}

/** Every objection as one line, for a push. */
export function guardObjections(guards: readonly Guard[], change: PlannedChange): string[] {
  return guards.flatMap((guard) => guard(change)?.message.replaceAll('\n', ' ') ?? []);
}
